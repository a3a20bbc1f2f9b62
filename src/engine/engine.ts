import { AppError } from '../core/errors.ts';
import type { RecordChange } from '../storage/port/freshness.ts';
import { StorageOutcomeUnknown, type Storage, StorageUnavailable } from '../storage/port/storage.ts';
import { Access } from './admin/rootKeys/rootKeyAccess.ts';
import { AnalyticsAdmin } from './admin/analytics/analyticsAdmin.ts';
import { ApiAdmin } from './admin/apis/apiAdmin.ts';
import { AuditLog } from './admin/audit/auditLog.ts';
import { BulkDeletion } from './admin/apis/deleteAllKeys.ts';
import { Changes } from './admin/change/applyChange.ts';
import { IdentityAdmin } from './admin/identities/identityAdmin.ts';
import { ImportQueue } from './admin/imports/importQueue.ts';
import { ImportAdmin } from './admin/imports/importAdmin.ts';
import { KeyAccessAdmin } from './admin/rbac/keyGrants.ts';
import { KeyLife } from './admin/keys/deleteAndRotate.ts';
import { KeyAdmin } from './admin/keys/keyAdmin.ts';
import type { AdminParts } from './admin/change/adminContext.ts';
import { PermissionAdmin } from './admin/rbac/permissionAdmin.ts';
import { type QuotaLimits, Quotas } from './admin/change/quotas.ts';
import { RootKeyAdmin } from './admin/rootKeys/rootKeyAdmin.ts';
import { LocalLimits } from './local/localLimits.ts';
import { KeyCache } from './cache/keyCache.ts';
import { PackedKeys } from './cache/packedKeys.ts';
import { makeRatelimits, type Ratelimits } from './standalone/makeStandalone.ts';
import { Refills } from './refill/refillPlans.ts';
import { RefillSweep } from './refill/refillSweep.ts';
import type { System } from './system.ts';
import { TagLists } from './analytics/tagLists.ts';
import { OpenCounts } from './analytics/openCounts.ts';
import { type Retention, SLICE, CountWriting } from './analytics/writeCounts.ts';
import { VerificationQuota } from './verify/quota.ts';
import { Verifier } from './verify/verifier.ts';

export interface EngineOptions {
  readonly storage: Storage;
  readonly system: System;
  /** The zone of refills that name none. */
  readonly defaultTimezone: string;
  readonly maxCachedKeys: number;
  readonly maxLocalOwners: number;
  /** Live counters of standalone limits in one namespace. */
  readonly maxLimitsPerNamespace: number;
  readonly quotas: QuotaLimits;
  /** Verifications are counted for analytics. */
  readonly countsVerifications: boolean;
  /** How long verifications stay counted. */
  readonly retention: Retention;
  /** Different tag lists that an api's verifications are counted under in a day. */
  readonly maxTagLists: number;
}

/** The service without a wire: everything that HTTP, the command line and the tests talk to. */
export class Engine {
  readonly storage: Storage;
  readonly system: System;
  readonly keyCache: KeyCache;
  readonly localLimits: LocalLimits;
  readonly verifier: Verifier;
  readonly access: Access;
  readonly apis: ApiAdmin;
  readonly keys: KeyAdmin;
  readonly keyLife: KeyLife;
  readonly bulkDeletion: BulkDeletion;
  readonly keyAccess: KeyAccessAdmin;
  readonly permissions: PermissionAdmin;
  readonly identities: IdentityAdmin;
  readonly rootKeys: RootKeyAdmin;
  readonly imports: ImportAdmin;
  readonly importQueue: ImportQueue;
  readonly auditLog: AuditLog;
  readonly verificationQuota: VerificationQuota;
  readonly ratelimits: Ratelimits;
  readonly sweep: RefillSweep;
  readonly openCounts: OpenCounts;
  readonly countWriting: CountWriting;
  readonly analytics: AnalyticsAdmin;

  constructor(options: EngineOptions) {
    const { storage, system, defaultTimezone, maxCachedKeys, maxLocalOwners, quotas } = options;
    const refills = new Refills();
    this.storage = storage;
    this.system = system;
    this.keyCache = new KeyCache(storage.records, maxCachedKeys, new PackedKeys(system.textReader));
    this.localLimits = new LocalLimits(storage.localCounts, {
      nowMs: () => storage.ledger.nowMs(),
      maxOwners: maxLocalOwners,
      maxPerGroup: options.maxLimitsPerNamespace,
    });
    this.openCounts = new OpenCounts(
      this.keyCache.packed,
      () => storage.ledger.nowMs(),
      new TagLists(options.maxTagLists),
    );
    this.verifier = new Verifier({
      keys: this.keyCache,
      localLimits: this.localLimits,
      ledger: storage.ledger,
      freshness: storage.freshness,
      refills,
      analytics: options.countsVerifications ? this.openCounts : null,
    });
    this.access = new Access(storage.records, storage.freshness);
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
    this.bulkDeletion = new BulkDeletion(parts);
    this.apis = new ApiAdmin(parts, this.bulkDeletion);
    this.identities = new IdentityAdmin(parts);
    this.rootKeys = new RootKeyAdmin(parts);
    this.importQueue = new ImportQueue(parts);
    this.imports = new ImportAdmin(parts, this.importQueue);
    this.auditLog = new AuditLog(storage.records);
    this.verificationQuota = new VerificationQuota(quotas.verificationsPerSecond);
    this.ratelimits = makeRatelimits(parts, {
      localLimits: this.localLimits,
      maxPerNamespace: options.maxLimitsPerNamespace,
      stoppedBecause: () => this.verifier.stoppedBecause,
    });
    this.countWriting = new CountWriting({
      openCounts: this.openCounts,
      analytics: storage.analytics,
      records: storage.records,
      sliceSize: SLICE,
      retention: options.retention,
    });
    this.analytics = new AnalyticsAdmin(parts, () => this.countWriting.flush(), options.retention);
    this.sweep = new RefillSweep(storage, refills);
    storage.freshness.onChange((change) => this.#forget(change));
  }

  /** Of what has changed nothing is used any more that was known before. */
  #forget({ keys, apis, identities, namespaces, rbac, rootKeys }: RecordChange): void {
    if (keys === null) this.keyCache.clear();
    else for (const digest of keys) this.keyCache.drop(digest);
    for (const apiId of apis) this.keyCache.dropApi(apiId);
    for (const apiId of keys === null ? [null] : apis) this.openCounts.forgetApi(apiId);
    for (const id of identities) this.keyCache.dropIdentity(id);
    if (keys === null) this.ratelimits.namespaces.clear();
    for (const subject of namespaces) this.ratelimits.namespaces.drop(subject);
    if (rbac) this.keyCache.dropAccess();
    if (rootKeys) this.access.forget();
  }

  /** What has to be on disk before the process may go. */
  async close(): Promise<void> {
    try {
      if (this.localLimits.unsavedSize > 0) await this.localLimits.sync();
    } finally {
      await this.countWriting.flush();
    }
  }
}

/** The words in which a caller hears of trouble with the database. */
export function toAppError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return new AppError('UNAVAILABLE', error.message);
  if (error instanceof StorageOutcomeUnknown) return new AppError('OUTCOME_UNKNOWN', error.message);
  return error;
}
