import { RootKeyAuthenticator } from './admin/rootKeys.ts';
import { KnownSessions } from './admin/sessions.ts';
import { Notices } from './alerts/notices.ts';
import { OpenCounts } from './analytics/openCounts.ts';
import { TagLists } from './analytics/tagLists.ts';
import { KeyCache } from './cache/keyCache.ts';
import { LocalLimits } from './localLimits.ts';
import type { System } from './platform.ts';
import { Namespaces } from './ratelimits/namespaces.ts';
import { RefillSchedules } from './refillSchedules.ts';
import type { RecordChange } from '../storage/port/freshness.ts';
import type { Storage } from '../storage/port/storage.ts';

interface MemoryOptions {
  readonly storage: Storage;
  readonly system: System;
  readonly maxCachedKeys: number;
  readonly maxLocalOwners: number;
  /** Counters of limits without keys in one namespace, local and strict. */
  readonly maxLimitsPerNamespace: number;
  /** Distinct tag lists of an api that are counted in one day. */
  readonly maxTagLists: number;
}

/** What a node remembers of the database, and what it counts before that is written. */
export class NodeMemory {
  readonly keyCache: KeyCache;
  readonly localLimits: LocalLimits;
  readonly openCounts: OpenCounts;
  readonly rootKeyAuthenticator: RootKeyAuthenticator;
  readonly namespaces: Namespaces;
  readonly sessions = new KnownSessions();
  readonly refills = new RefillSchedules();
  readonly notices = new Notices();

  constructor({ storage, system, ...options }: MemoryOptions) {
    const nowMs = (): number => storage.ledger.nowMs();
    this.keyCache = new KeyCache(storage.records, options.maxCachedKeys, system.textReader);
    this.localLimits = new LocalLimits(storage.localCounts, {
      nowMs,
      maxOwners: options.maxLocalOwners,
      maxPerGroup: options.maxLimitsPerNamespace,
    });
    this.openCounts = new OpenCounts(this.keyCache.counts, nowMs, new TagLists(options.maxTagLists));
    this.rootKeyAuthenticator = new RootKeyAuthenticator(storage.records, storage.freshness);
    this.namespaces = new Namespaces(storage.records);
  }

  /** Drops what is cached of changed records. */
  forget({ keys, apis, identities, plans, namespaces, rbac, rootKeys }: RecordChange): void {
    if (keys === null) this.keyCache.clear();
    else for (const digest of keys) this.keyCache.drop(digest);
    for (const apiId of apis) this.keyCache.dropApi(apiId);
    for (const apiId of keys === null ? [null] : apis) this.openCounts.forgetApi(apiId);
    for (const id of identities) this.keyCache.dropIdentity(id);
    for (const id of plans) this.keyCache.dropPlan(id);
    if (keys === null) this.namespaces.clear();
    for (const subject of namespaces) this.namespaces.drop(subject);
    if (rbac) this.keyCache.dropAccess();
    if (!rootKeys) return;
    this.rootKeyAuthenticator.forget();
    this.sessions.forget();
  }
}
