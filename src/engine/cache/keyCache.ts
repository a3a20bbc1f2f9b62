import { dropFirst } from '../../basics/dropFirst.ts';
import { AppError } from '../../core/errors.ts';
import {
  type AppliedLimit,
  type CachedEntry,
  type KeyEntry,
  NO_SOURCES,
  type Sources,
  withWindow,
  type PlanSlot,
} from './entries.ts';
import { Identities } from './identities.ts';
import type { KeyCounts } from './keyCounts.ts';
import { KeyRows } from './keyRows.ts';
import { Plans } from './plans.ts';
import type { LocalOwner } from '../localLimits.ts';
import type { TextReader } from '../platform.ts';
import type { KeyWithIdentity, PoisonedKey, Records } from '../../storage/port/records.ts';
import { StorageDamaged } from '../../storage/port/storage.ts';

/** Digests of unknown keys to remember: a flood of one wrong key asks the database once. */
const MAX_UNKNOWN = 10_000;
/** Lookups that may wait. One more is refused at once; cached keys are not slowed by them. */
const MAX_WAITING_LOOKUPS = 10_000;
/** Batches that are read at one time. Lookups that arrive meanwhile form the next batch. */
const MAX_BATCHES = 2;
/** Keys of one batch. */
const MAX_BATCH = 500;

/**
 * Keys that were seen, by the digest of their secret. A digest is in one of these states:
 *
 *   absent --find--> looking up --found--> cached  --drop--> absent
 *                               --not there--> known as unknown  --drop--> absent
 *   looking up --drop--> looking up, and read again when the first answer arrives
 *
 * Lookups of one turn of the event loop form one batch, and so do those that arrive while batches are being
 * read. A key is asked for once, however many verifications wait for it.
 */
export class KeyCache {
  readonly #records: Records;
  readonly #maxKeys: number;
  readonly #keys: KeyRows;
  readonly #unknown = new Set<string>();
  readonly #lookups = new Map<string, Lookup>();
  readonly #plans: Plans;
  readonly #identities: Identities;
  #asking: string[] = [];
  readonly #batches = new Set<LookupBatch>();
  hits = 0;
  misses = 0;

  constructor(records: Records, maxKeys: number, textReader: TextReader) {
    this.#plans = new Plans(records);
    this.#identities = new Identities(this.#plans, textReader);
    this.#keys = new KeyRows(textReader, this.#identities);
    this.#records = records;
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** How many identities its keys have. */
  get identityCount(): number {
    return this.#identities.size;
  }

  /** How often keys were valid, for analytics. */
  get counts(): KeyCounts {
    return this.#keys;
  }

  get lookupsWaiting(): number {
    return this.#lookups.size;
  }

  /** Without I/O. Null: the key does not exist. Undefined: the key must be looked up. */
  peek(digest: string): KeyEntry | null | undefined {
    const entry = this.#keys.get(digest);
    if (entry === undefined) return this.#unknown.has(digest) ? null : undefined;
    this.hits++;
    return entry;
  }

  lookUp(digest: string): Promise<KeyEntry | null> {
    const running = this.#lookups.get(digest);
    if (running !== undefined) return running.promise;
    const plan = this.#identities.planSlotOf(this.#keys.sourcesOf(digest) ?? NO_SOURCES);
    if (plan?.entry === null) return this.#afterReading(plan, digest);
    if (this.#lookups.size >= MAX_WAITING_LOOKUPS) {
      return Promise.reject(
        new AppError('UNAVAILABLE', 'Too many keys are being looked up in the database. Try again.'),
      );
    }
    this.misses++;
    const lookup: Lookup = { ...Promise.withResolvers<KeyEntry | null>(), changed: false };
    this.#lookups.set(digest, lookup);
    this.#ask(digest);
    return lookup.promise;
  }

  /** The key and its identity, if it has one, are known. When their plan has changed, only the plan is read, once for all its holders. */
  async #afterReading(plan: PlanSlot, digest: string): Promise<KeyEntry | null> {
    await this.#plans.read(plan);
    const entry = this.peek(digest);
    return entry === undefined ? this.lookUp(digest) : entry;
  }

  /** The key remembers where its local limits are counted. */
  keepLocal(entry: KeyEntry, owner: LocalOwner): void {
    this.#keys.keepLocal(entry as CachedEntry, owner);
  }

  /**
   * The holder remembers the account of a window that was opened for a strict limit of its plan. A window that has ended may be removed. A
   * spend on it is then stale, and the holder is looked up again.
   */
  keepWindow(entry: KeyEntry, limit: AppliedLimit, account: number): void {
    if (entry.identity !== null) return entry.identity.keepWindow(limit, account);
    const limits = entry.plan?.forKeys.all ?? [];
    // A limit with the cost of a request is another object with every request.
    if (!limits.includes(limit)) return;
    this.#keys.keepWindows(entry as CachedEntry, withWindow(entry.windows, limits, [limit, account]));
  }

  /** What a ledger has noted about the records that decide the spends of this entry (RecordsCheck); 0 = nothing. */
  checkedAt(entry: KeyEntry): number {
    return this.#keys.checkedAt(entry);
  }

  keepChecked(entry: KeyEntry, checkedAt: number): void {
    this.#keys.keepChecked(entry, checkedAt);
  }

  /** The key was created, changed or removed. From now on the old entry is not used any more. */
  drop(digest: string): void {
    this.#keys.delete(digest);
    this.#unknown.delete(digest);
    const lookup = this.#lookups.get(digest);
    if (lookup !== undefined) lookup.changed = true;
  }

  /** All keys of this api were deleted. */
  dropApi(apiId: string): void {
    this.#keys.dropApi(apiId);
    for (const batch of this.#batches) batch.apis.add(apiId);
  }

  dropIdentity(id: string): void {
    this.#identities.drop(id);
    for (const batch of this.#batches) batch.identities.add(id);
  }

  /** What the key got from others may be out of date. Newer entries of the same records stay. */
  dropSourcesOf({ identity, plan: own }: KeyEntry): void {
    if (identity !== null) this.#identities.dropEntry(identity);
    const plan = own ?? identity?.plan ?? null;
    if (plan !== null) this.#plans.dropEntry(plan);
  }

  dropPlan(id: string): void {
    this.#plans.drop(id);
  }

  /** Roles or permissions have changed. */
  dropAccess(): void {
    this.#keys.dropAccess();
    this.#plans.dropAccess();
    for (const batch of this.#batches) batch.access = true;
  }

  /** Anything may have changed. */
  clear(): void {
    this.#keys.clear();
    this.#identities.clear();
    this.#plans.clear();
    this.#unknown.clear();
    for (const lookup of this.#lookups.values()) lookup.changed = true;
  }

  #ask(digest: string): void {
    this.#asking.push(digest);
    if (this.#asking.length === 1) queueMicrotask(() => void this.#readAsked());
  }

  async #readAsked(): Promise<void> {
    if (this.#asking.length === 0 || this.#batches.size >= MAX_BATCHES) return;
    const digests = this.#asking.splice(0, MAX_BATCH);
    const batch = new LookupBatch();
    this.#batches.add(batch);
    void this.#readAsked();
    try {
      await this.#read(digests, batch);
    } catch (error) {
      // Only the keys on a damaged page fail, and none of those that were read with them.
      if (error instanceof StorageDamaged) for (const digest of digests) await this.#readAlone(digest, batch);
      // Waiting lookups fail too: otherwise they would wait for one time limit after the other.
      else for (const digest of [...digests, ...this.#asking.splice(0)]) this.#finish(digest)?.reject(error as Error);
    } finally {
      this.#batches.delete(batch);
    }
    void this.#readAsked();
  }

  async #read(digests: readonly string[], batch: LookupBatch): Promise<void> {
    const found = await this.#records.findKeysByDigest(digests);
    await this.#plans.readOf(found);
    for (const [i, digest] of digests.entries()) this.#receive(digest, found[i] ?? null, batch);
  }

  async #readAlone(digest: string, batch: LookupBatch): Promise<void> {
    try {
      await this.#read([digest], batch);
    } catch (error) {
      this.#finish(digest)?.reject(error as Error);
    }
  }

  #receive(digest: string, found: KeyWithIdentity | PoisonedKey | null, batch: LookupBatch): void {
    const lookup = this.#lookups.get(digest);
    if (lookup?.changed || batch.hasChanged(found)) {
      if (lookup !== undefined) lookup.changed = false;
      return this.#ask(digest);
    }
    if (found !== null && 'poisoned' in found) return this.#refuse(digest, found.poisoned, found.reason);
    const [broken] = found?.permissions?.broken ?? [];
    if (found && broken) return this.#refuse(digest, found.key.id, `${broken.id}: ${broken.reason}`);
    if (found === null) this.#keepUnknown(digest);
    const entry = found === null ? null : this.#keep(digest, found);
    if (entry instanceof Error) return this.#finish(digest)?.reject(entry);
    // Its plan or that of its identity has changed since it was read.
    if (entry === undefined) return this.#ask(digest);
    this.#finish(digest)?.resolve(entry);
  }

  #refuse(digest: string, keyId: string, reason: string): void {
    const message = `The stored key ${keyId} cannot be read: ${reason}.`;
    this.#finish(digest)?.reject(new AppError('INTERNAL_SERVER_ERROR', message));
  }

  #finish(digest: string): Lookup | undefined {
    const lookup = this.#lookups.get(digest);
    this.#lookups.delete(digest);
    return lookup;
  }

  /** Undefined: its plan or that of its identity must be read. An error: it cannot be read. */
  #keep(digest: string, found: KeyWithIdentity): KeyEntry | Error | undefined {
    const { key } = found;
    const sources: Sources = {
      identityRow: found.identity === null ? null : this.#identities.keep(found.identity),
      planSlot: key.identityId !== null || key.planId === null ? null : this.#plans.slot(key.planId),
    };
    const plan = this.#identities.planSlotOf(sources);
    if (plan !== null && plan.entry === null) {
      this.#identities.release(sources.identityRow);
      return plan.failure ?? undefined;
    }
    this.#keys.add(digest, found, sources);
    const kept = this.#keys.get(digest);
    if (this.size > this.#maxKeys) this.#keys.dropOldest();
    return kept;
  }

  #keepUnknown(digest: string): void {
    this.#unknown.add(digest);
    if (this.#unknown.size > MAX_UNKNOWN) dropFirst(this.#unknown);
  }
}

/** A key that is being looked up. */
interface Lookup {
  readonly promise: Promise<KeyEntry | null>;
  resolve(entry: KeyEntry | null): void;
  reject(error: Error): void;
  /** The key changed during the read: the answer must not be kept. */
  changed: boolean;
}

/** Keys that are being read together, and the records that were dropped meanwhile: the answer may be older than their change. */
class LookupBatch {
  readonly apis = new Set<string>();
  readonly identities = new Set<string>();
  access = false;

  /** A record of the answer was dropped while the batch was being read. */
  hasChanged(found: KeyWithIdentity | PoisonedKey | null): boolean {
    if (found === null) return false;
    if ('poisoned' in found) return this.apis.has(found.apiId) || this.access;
    const { apiId, identityId, roleIds, permissionIds } = found.key;
    return (
      this.apis.has(apiId) ||
      (identityId !== null && this.identities.has(identityId)) ||
      (this.access && (roleIds.length > 0 || permissionIds.length > 0))
    );
  }
}
