import { AppError } from '../core/errors.ts';
import { StorageOutcomeUnknown, type Storage, StorageUnavailable } from '../storage/port.ts';
import { Access } from './admin/access.ts';
import { ApiAdmin } from './admin/apis.ts';
import { KeyAdmin } from './admin/keys.ts';
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
  readonly rootKeys: RootKeyAdmin;
  readonly sweep: RefillSweep;

  constructor({ storage, system, defaultTimezone, maxCachedKeys, maxLocalOwners }: EngineOptions) {
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
    this.apis = new ApiAdmin(storage, system);
    this.keys = new KeyAdmin({ storage, system, keys: this.keyCache, refills, defaultTimezone });
    this.rootKeys = new RootKeyAdmin(storage, system, this.access);
    this.sweep = new RefillSweep(storage.ledger, this.keys, storage.edge.isShared);
    storage.feed.onChange(({ keys, rootKeys }) => {
      if (keys === null) this.keyCache.clear();
      else for (const digest of keys) this.keyCache.drop(digest);
      if (rootKeys) this.access.forget();
    });
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
