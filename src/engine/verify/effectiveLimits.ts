import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { dropFirst } from '../../basics/dropFirst.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { AppliedLimit, KeyEntry } from '../cache/entries.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import { type LocalLimits, liveAdHoc, type LocalCharge, tooManyAdHocLimits } from '../localLimits.ts';
import { OneAtATime } from '../fairTurns.ts';
import type { LimitRequest, VerifyRequest } from './request.ts';
import { type Ledger, StorageUnavailable, type WindowName } from '../../storage/port/storage.ts';

const NONE: readonly AppliedLimit[] = [];

/** The limits that apply to this request. One that is explained and takes no credits leaves limits alone that it does not name. */
export function limitsOf(entry: KeyEntry, { limits, isExplained, creditCost }: VerifyRequest): readonly AppliedLimit[] {
  const applied = appliedLimits(entry, limits);
  if (!isExplained || creditCost > 0) return applied;
  return applied.map((limit) => (limits?.some(({ name }) => name === limit.name) ? limit : { ...limit, cost: 0 }));
}

/** The key or identity that a limit counts for. */
export function ownerOf(entry: KeyEntry, { ofIdentity }: AppliedLimit): string {
  return ofIdentity ? (entry.identity?.id ?? entry.id) : entry.id;
}

/**
 * The limits that apply: all limits of the key, those of its identity that apply to every verification, and those that the request
 * names. The cost of a request counts in each limit of that name. Its numbers replace those of the key's limit, and those of the identity's
 * limit only if the key has none of that name: what the keys of an identity share is not raised by a request about one of them. A limit of
 * the identity that only applies when it is named gives way to a limit of the key of the same name. A request with limit and duration
 * makes an ad-hoc limit, which counts for the identity if the key has one.
 */
function appliedLimits(entry: KeyEntry, requested: readonly LimitRequest[] | null): readonly AppliedLimit[] {
  const always = entry.alwaysApplied ?? NONE;
  if (requested === null) return always;
  const applied: AppliedLimit[] = [];
  for (const limit of always) {
    const request = requested.find(({ name }) => name === limit.name) ?? null;
    const isDouble = always.some((other) => other.name === limit.name && other !== limit);
    if (request === null) applied.push(limit);
    else if (!isDouble) applied.push(asRequested(entry, request, limit));
    else applied.push(limit.ofIdentity ? { ...limit, cost: request.cost ?? 1 } : withNumbers(limit, request));
  }
  for (const request of requested) {
    if (always.some(({ name }) => name === request.name)) continue;
    applied.push(asRequested(entry, request, sharedLimit(entry, request.name)));
  }
  return applied;
}

function asRequested(entry: KeyEntry, request: LimitRequest, limit: AppliedLimit | null): AppliedLimit {
  if (limit !== null && request.async !== undefined) throw modeIsConfigured(limit.name);
  if (request.limit !== undefined && request.durationMs !== undefined) return adHoc(entry, request, limit);
  if (limit === null) throw unknownLimit(request.name);
  return withNumbers(limit, request);
}

/** A configured limit with the numbers of the request. */
function withNumbers(limit: AppliedLimit, request: LimitRequest): AppliedLimit {
  if (request.async !== undefined) throw modeIsConfigured(limit.name);
  const durationMs = request.durationMs ?? limit.durationMs;
  const isSame = durationMs === limit.durationMs;
  return {
    ...limit,
    limit: request.limit ?? limit.limit,
    durationMs,
    cost: request.cost ?? 1,
    // Another duration is another counter: an ad-hoc one.
    isAdHoc: !isSame,
    account: isSame ? limit.account : null,
    notify: isSame && limit.notify,
    wire: null,
  };
}

function adHoc(entry: KeyEntry, request: LimitRequest, limit: AppliedLimit | null): AppliedLimit {
  const async = limit?.async ?? request.async ?? true;
  const ofIdentity = entry.identity !== null;
  // With the owner, name, duration and mode of a configured limit, it uses the counter of that limit.
  const own = sharedLimit(entry, request.name);
  const isOwn = own !== null && own.durationMs === request.durationMs && own.async === async;
  return {
    name: request.name,
    limit: request.limit ?? 0,
    durationMs: request.durationMs ?? 0,
    async,
    cost: request.cost ?? 1,
    ofIdentity,
    isAdHoc: !isOwn,
    account: isOwn ? own.account : null,
    notify: isOwn && own.notify,
    wire: null,
  };
}

/** The limit of this name that the keys of an identity share; without an identity, that of the key or of its plan. */
function sharedLimit({ identity, limits }: KeyEntry, name: string): AppliedLimit | null {
  return (identity === null ? limits : identity.limits)?.find((limit) => limit.name === name) ?? null;
}

function unknownLimit(name: string): AppError {
  const hint =
    name === DEFAULT_LIMIT_NAME
      ? 'The key has no ratelimit'
      : `Neither the key nor its customer has a limit named ${repeatable(name)}`;
  return new AppError('BAD_REQUEST', `${hint}. To use an ad-hoc limit, send limit and duration with it.`);
}

function modeIsConfigured(name: string): AppError {
  return new AppError(
    'BAD_REQUEST',
    `The limit ${repeatable(name)} is configured, so a request cannot set its async. Leave async out.`,
  );
}

const MAX = MAX_ADHOC_LIMITS_PER_OWNER;
/** Owners whose number of strict ad-hoc limits is kept in memory. */
const MAX_COUNTED = 10_000;
/** How long a count is used on a shared database, where other nodes open strict limits too. */
const SHARED_COUNT_MS = 1_000;

interface Count {
  readonly strict: number;
  readonly atMs: number;
}

/**
 * Bounds the number of ad-hoc limits of one key: local and strict ones together, its own and those of its identity.
 *
 * A local limit is opened in memory, in the turn of the request. That needs the number of strict ones, which is kept here.
 * A strict limit is opened by the database, which is told how many strict ones the owner may have.
 * Opening or counting strict limits of one key or identity is done one at a time. Opening a strict one first forgets their number.
 * While the number is unknown, no local limit is opened; so none is opened while a strict one is being opened. The next request for
 * a new local limit waits for its turn in the same queue, and counts again.
 */
export class AdHocLimits {
  readonly #keys: KeyCache;
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #counts = new Map<string, Count>();
  readonly #oneAtATime = new OneAtATime(
    'Too many ad-hoc limits of one key or customer are waiting to be created; nothing was spent. Try again.',
  );

  constructor(keys: KeyCache, localLimits: LocalLimits, ledger: Ledger) {
    this.#keys = keys;
    this.#localLimits = localLimits;
    this.#ledger = ledger;
  }

  /** One more local limit may be opened in this turn. False: `requireSpace` first. Throws when the limits in memory alone are too many. */
  mayOpenLocal(entry: KeyEntry, nowMs: number): boolean {
    let total = 0;
    let isKnown = true;
    for (const id of ownersOf(entry)) {
      const owner = this.#localLimits.owner(id);
      const strict = this.#strictOf(id, nowMs);
      if (owner === undefined || strict === null) isKnown = false;
      if (owner !== undefined) total += liveAdHoc(owner, configuredOf(entry, id), nowMs);
      if (total >= MAX) throw tooManyAdHocLimits();
      total += strict ?? 0;
    }
    return isKnown && total < MAX;
  }

  /** Counts the limits again, and closes ended ones if there is no space. Throws when there is still none. */
  async requireSpace(entry: KeyEntry): Promise<void> {
    await this.#oneAtATime.run(queueOf(entry), async () => {
      await this.#count(entry);
      if (this.mayOpenLocal(entry, this.#ledger.nowMs())) return;
      await this.#closeEnded(entry);
      await this.#count(entry);
      if (!this.mayOpenLocal(entry, this.#ledger.nowMs())) throw tooManyAdHocLimits();
    });
  }

  /**
   * The accounts of the strict limits that have none in their record: ad-hoc limits, and those of a plan; null for the others. Missing
   * accounts are opened one after the other: a refusal opens no further ones.
   */
  async accounts(entry: KeyEntry, strict: readonly AppliedLimit[]): Promise<(number | null)[]> {
    const windowOf = (limit: AppliedLimit): WindowName | null =>
      limit.account === null ? { owner: ownerOf(entry, limit), name: limit.name, durationMs: limit.durationMs } : null;
    const windows = strict.map(windowOf);
    const found = await Promise.all(windows.map(async (window) => window && this.#ledger.openWindow(window, 0)));
    for (const [i, window] of windows.entries()) {
      if (window === null || found[i] !== null) continue;
      // The windows of a plan are not bounded here: their limits are.
      found[i] = strict[i]?.isAdHoc
        ? await this.#oneAtATime.run(queueOf(entry), () => this.#open(entry, window))
        : await this.#ledger.openWindow(window, null);
    }
    for (const [i, limit] of strict.entries()) {
      const account = found[i] ?? null;
      if (account !== null && !limit.isAdHoc) this.#keys.keepWindow(entry, limit, account);
    }
    return found;
  }

  /** `openWindow` closes ended windows of this owner by itself. Those of the other owner are closed here when there is no space. */
  async #open(entry: KeyEntry, window: WindowName): Promise<number> {
    for (const isTidied of ownersOf(entry).length === 1 ? [false] : [false, true]) {
      if (isTidied) await this.#closeEnded(entry);
      const left = MAX - (await this.#countBeside(entry, window.owner));
      const account = left > 0 ? await this.#ledger.openWindow(window, left) : null;
      if (account !== null) return account;
    }
    throw tooManyAdHocLimits();
  }

  #strictOf(id: string, nowMs: number): number | null {
    const count = this.#counts.get(id);
    if (count === undefined) return null;
    const ageMs = nowMs - count.atMs;
    // A clock that is set back makes a count old, too.
    return !this.#localLimits.isShared || (ageMs >= 0 && ageMs < SHARED_COUNT_MS) ? count.strict : null;
  }

  async #count(entry: KeyEntry): Promise<void> {
    for (const id of ownersOf(entry)) {
      await this.#localLimits.load(id, this.#ledger.nowMs());
      const strict = await this.#countStrict(id);
      if (this.#counts.size >= MAX_COUNTED) dropFirst(this.#counts);
      this.#counts.set(id, { strict, atMs: this.#ledger.nowMs() });
    }
  }

  /** Without a database, a node of several continues with its local limits and the last count. It opens no strict limits then. */
  async #countStrict(id: string): Promise<number> {
    try {
      return await this.#ledger.countWindows(id, MAX);
    } catch (error) {
      if (!this.#localLimits.isShared || !(error instanceof StorageUnavailable)) throw error;
      return this.#counts.get(id)?.strict ?? 0;
    }
  }

  /** All ad-hoc limits except the strict ones of this owner, which the database counts when it opens one. */
  async #countBeside(entry: KeyEntry, owner: string): Promise<number> {
    const ids = ownersOf(entry);
    for (const id of ids) await this.#localLimits.load(id, this.#ledger.nowMs());
    // From here on no local limit is opened.
    this.#counts.delete(owner);
    const nowMs = this.#ledger.nowMs();
    let others = 0;
    for (const id of ids) {
      const loaded = this.#localLimits.owner(id);
      if (loaded !== undefined) others += liveAdHoc(loaded, configuredOf(entry, id), nowMs);
    }
    for (const id of ids) if (id !== owner) others += await this.#ledger.countWindows(id, MAX);
    return others;
  }

  async #closeEnded(entry: KeyEntry): Promise<void> {
    for (const id of ownersOf(entry)) await this.#ledger.closeEndedWindows(id, MAX, null);
  }
}

/** For a key with an identity, ad-hoc limits count for the identity. Only a limit of the key with another duration counts for the key. */
function ownersOf({ id, identity, limits }: KeyEntry): readonly string[] {
  if (identity === null) return [id];
  return limits === null ? [identity.id] : [id, identity.id];
}

function queueOf({ id, identity }: KeyEntry): string {
  return identity?.id ?? id;
}

function configuredOf({ id, identity, limits }: KeyEntry, owner: string): readonly AppliedLimit[] | null {
  return owner === id ? limits : (identity?.limits ?? null);
}

/** A verification whose record checks have passed, and whose limits and credits are being counted. */
export interface Counting {
  readonly entry: KeyEntry;
  readonly request: VerifyRequest;
  /** How often this verification has read the key again. */
  readonly reloads: number;
  readonly nowMs: number;
  /** All limits that apply, in the order in which they are reported. */
  readonly limits: readonly AppliedLimit[];
  /** One charge for each local limit, in their order. */
  readonly local: readonly LocalCharge[];
  /** The strict ones among the limits. */
  readonly strict: readonly AppliedLimit[];
}

/** The key has credits of its own, or shares those of its identity. */
export function hasCredits({ credits, sharedCredits }: KeyEntry): boolean {
  return credits !== null || sharedCredits !== null;
}
