import { AppError } from '../core/errors.ts';
import type { FeedChange } from '../storage/feedPort.ts';
import { StorageOutcomeUnknown, type Storage, StorageUnavailable } from '../storage/port.ts';
import { Access } from './admin/access.ts';
import { ApiAdmin } from './admin/apis.ts';
import { Changes } from './admin/changes.ts';
import { IdentityAdmin } from './admin/identities.ts';
import { KeyAccessAdmin } from './admin/keyAccess.ts';
import { KeyLife } from './admin/keyLife.ts';
import { KeyAdmin } from './admin/keys.ts';
import type { AdminParts } from './admin/parts.ts';
import { PermissionAdmin } from './admin/permissions.ts';
import { type QuotaLimits, Quotas } from './admin/quotas.ts';
import { RootKeyAdmin } from './admin/rootKeys.ts';
import { Edge } from './edge.ts';
import { KeyCache } from './keyCache.ts';
import { Refills } from './refills.ts';
import { RefillSweep } from './sweep.ts';
import type { System } from './system.ts';
import { Verifier } from './verify.ts';

export interface EngineOptions {
  readonly storage: Storage;
  readonly system: System;
  /** The zone of refills that name none. */
  readonly defaultTimezone: string;
  readonly maxCachedKeys: number;
  readonly maxLocalOwners: number;
  readonly quotas: QuotaLimits;
}

/** The service without a wire: everything that HTTP, the command line and the tests talk to. */
export class Engine {
  readonly storage: Storage;
  readonly system: System;
  readonly keyCache: KeyCache;
  readonly edge: Edge;
  readonly verifier: Verifier;
  readonly access: Access;
  readonly apis: ApiAdmin;
  readonly keys: KeyAdmin;
  readonly keyLife: KeyLife;
  readonly keyAccess: KeyAccessAdmin;
  readonly permissions: PermissionAdmin;
  readonly identities: IdentityAdmin;
  readonly rootKeys: RootKeyAdmin;
  readonly sweep: RefillSweep;

  constructor({ storage, system, defaultTimezone, maxCachedKeys, maxLocalOwners, quotas }: EngineOptions) {
    const refills = new Refills();
    this.storage = storage;
    this.system = system;
    this.keyCache = new KeyCache(storage.records, maxCachedKeys);
    this.edge = new Edge(storage.edge, maxLocalOwners);
    this.verifier = new Verifier({
      keys: this.keyCache,
      edge: this.edge,
      ledger: storage.ledger,
      feed: storage.feed,
      refills,
    });
    this.access = new Access(storage.records, storage.feed);
    const parts: AdminParts = {
      storage,
      system,
      refills,
      defaultTimezone,
      changes: new Changes(storage.ledger, (change) => this.#forget(change)),
      quotas: new Quotas(storage.records, quotas, () => storage.ledger.nowMs()),
    };
    this.keys = new KeyAdmin(parts);
    this.keyLife = new KeyLife(parts);
    this.keyAccess = new KeyAccessAdmin(parts);
    this.permissions = new PermissionAdmin(parts);
    this.apis = new ApiAdmin(parts, this.keyLife);
    this.identities = new IdentityAdmin(parts);
    this.rootKeys = new RootKeyAdmin(parts);
    this.sweep = new RefillSweep(storage.ledger, (owner) => this.#applyRefill(owner), storage.edge.isShared);
    storage.feed.onChange((change) => this.#forget(change));
  }

  /** Of what has changed nothing is used any more that was known before. */
  #forget({ keys, apis, identities, rbac, rootKeys }: FeedChange): void {
    if (keys === null) this.keyCache.clear();
    else for (const digest of keys) this.keyCache.drop(digest);
    for (const apiId of apis) this.keyCache.dropApi(apiId);
    for (const id of identities) this.keyCache.dropIdentity(id);
    if (rbac) this.keyCache.dropAccess();
    if (rootKeys) this.access.forget();
  }

  #applyRefill(owner: string): Promise<boolean> {
    return owner.startsWith('key_') ? this.keys.applyRefill(owner) : this.identities.applyRefill(owner);
  }

  /** What has to be on disk before the process may go. */
  async close(): Promise<void> {
    if (this.edge.hasToSync) await this.edge.sync();
  }
}

/** The words in which a caller hears of trouble with the database. */
export function toAppError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return new AppError('UNAVAILABLE', error.message);
  if (error instanceof StorageOutcomeUnknown) return new AppError('OUTCOME_UNKNOWN', error.message);
  return error;
}
