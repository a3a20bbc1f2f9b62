import type { AccountMark } from '../../core/account.ts';
import { AppError } from '../../core/errors.ts';
import { type Fence, NO_FENCES, permissionFence, recordFence } from '../../core/fence.ts';
import { grantsFor, NO_PERMISSIONS, type PermissionQuery } from '../../core/permissions.ts';
import type { NewReservation, ReserveOutcome } from '../../core/reservation.ts';
import type { Charge, RecordsCheck, Spend, SpendOutcome } from '../../core/spend.ts';
import { type AppliedLimit, accountOf, type KeyEntry, windowOf } from '../cache/entries.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import type { LocalLimits } from '../localLimits.ts';
import type { SettlesCredits } from '../planOf.ts';
import type { RefillSchedules } from '../refillSchedules.ts';
import { AdHocLimits, type Counting, hasCredits, limitsOf } from './effectiveLimits.ts';
import { ledgerCharges, localReports, refusedByMemory, refusedByRecord } from './pipeline.ts';
import { explain } from './explanation.ts';
import { LocalCharges, type Preparation } from './charges.ts';
import { UNKNOWN_KEY, valid, type Verdict, Verdicts, withReservation } from './verdict.ts';
import { type ReservationTerms, type VerifyRequest } from './request.ts';
import type { Freshness } from '../../storage/port/freshness.ts';
import type { Ledger } from '../../storage/port/storage.ts';

interface VerifyContext {
  readonly keyCache: KeyCache;
  readonly localLimits: LocalLimits;
  readonly ledger: Ledger;
  readonly freshness: Freshness;
  readonly refills: RefillSchedules;
  readonly dueCredits: SettlesCredits;
  /** Counts every verdict; null = analytics are off. */
  readonly analytics: { count(request: VerifyRequest, verdict: Verdict): void } | null;
  /** Sees every verdict and notes those that need an event. */
  readonly notices: { observe(verdict: Verdict): void };
}

const NO_LIMITS: readonly AppliedLimit[] = [];

/**
 * How often a request is decided again before it gives up: after a change of a record or a refill epoch, or when something was due. After a
 * long rest, a key and its identity can each need a refill and a settlement, and a record can change meanwhile.
 */
const MAX_RELOADS = 6;

/**
 * The one entrance to a verification. It finds the key, runs the pipeline (pipeline.ts) and counts the verdict for analytics. When a
 * cached key has neither strict limits nor credits, it answers in the same turn, without I/O.
 */
export class Verifier {
  readonly #context: VerifyContext;
  readonly #ledger: AskLedger;
  readonly #local: LocalCharges;
  readonly #verdicts: Verdicts;
  #stopped: string | null = null;

  constructor(context: VerifyContext) {
    const { keyCache: keys, localLimits, ledger, refills } = context;
    this.#context = context;
    const adHoc = new AdHocLimits(keys, localLimits, ledger);
    this.#ledger = new AskLedger(keys, ledger, adHoc, refills);
    this.#local = new LocalCharges(keys, localLimits, adHoc, ledger);
    this.#verdicts = new Verdicts(localLimits, ledger, refills);
  }

  /** Refuses every request from now on: no key may be called valid any more. */
  stop(reason: string): void {
    this.#stopped = reason;
  }

  get stoppedBecause(): string | null {
    return this.#stopped;
  }

  verify(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    const decided = this.#ask(request);
    if (request.isExplained) return this.#explain(request, decided);
    return 'then' in decided
      ? decided.then((verdict) => this.#observe(request, verdict))
      : this.#observe(request, decided);
  }

  #observe(request: VerifyRequest, verdict: Verdict): Verdict {
    const { analytics, notices } = this.#context;
    if (analytics !== null) analytics.count(request, verdict);
    notices.observe(verdict);
    return verdict;
  }

  /** One that takes nothing leaves no trace either: to ask whether a key is in use is not to use it. */
  async #explain(request: VerifyRequest, decided: Verdict | PromiseLike<Verdict>): Promise<Verdict> {
    const verdict = await decided;
    if (request.creditCost > 0) this.#observe(request, verdict);
    return { ...verdict, explanation: explain(request, verdict) };
  }

  #ask(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    if (this.#stopped !== null) throw new AppError('UNAVAILABLE', this.#stopped);
    if (request.secretDigest === null) return UNKNOWN_KEY;
    return this.#context.freshness.mayUseCache() ? this.#decideCached(request) : this.#confirmAndDecide(request);
  }

  /** The cache may be too old. Freshness asks the database once for all requests that wait, not once per key. */
  async #confirmAndDecide(request: VerifyRequest): Promise<Verdict> {
    await this.#context.freshness.confirm();
    return this.#decideCached(request);
  }

  #decideCached(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    const entry = this.#context.keyCache.peek(request.secretDigest ?? '');
    if (entry === undefined || (entry === null && request.olderDigests !== null))
      return this.#findAndDecide(request, 0);
    return this.#decide(entry, request, 0);
  }

  async #findAndDecide(request: VerifyRequest, reloads: number): Promise<Verdict> {
    return this.#decide(await this.#find(request), request, reloads);
  }

  async #find(request: VerifyRequest): Promise<KeyEntry | null> {
    const { keyCache: keys } = this.#context;
    for (const digest of digestsOf(request)) {
      const known = keys.peek(digest);
      const entry = known === undefined ? await keys.lookUp(digest) : known;
      if (entry !== null) return entry;
    }
    return null;
  }

  /** First the checks that read the record, then those that count. */
  #decide(entry: KeyEntry | null, request: VerifyRequest, reloads: number): Verdict | PromiseLike<Verdict> {
    const nowMs = this.#context.ledger.nowMs();
    if (entry !== null && isMoveDue(entry, nowMs)) return this.#moveAndDecide(entry, request, reloads);
    const code = refusedByRecord(entry, request, nowMs);
    if (entry === null || code === 'NOT_FOUND') return UNKNOWN_KEY;
    if (code !== null) return this.#verdicts.refuse(entry, code, null, nowMs);
    const isCounted = entry.alwaysApplied !== null || request.limits !== null || hasCredits(entry);
    if (!isCounted && request.reservation === null) return valid(entry, null, nowMs);
    return this.#count(entry, request, reloads, nowMs);
  }

  /** The key or its identity is on another plan from now on. The first request to notice saves the move. */
  async #moveAndDecide(entry: KeyEntry, request: VerifyRequest, reloads: number): Promise<Verdict> {
    await this.#context.dueCredits.settle(entry.identity?.id ?? entry.id);
    return this.#decideAgain({ entry, request, reloads });
  }

  /** Checks local limits in memory. When they allow the request, the ledger decides strict limits and credits. */
  #count(entry: KeyEntry, request: VerifyRequest, reloads: number, nowMs: number): Verdict | PromiseLike<Verdict> {
    const { localLimits } = this.#context;
    const limits = limitsOf(entry, request);
    const local = this.#local.of(entry, limits, nowMs);
    if (typeof local === 'function') return this.#prepareAndCount(local, entry, request, reloads);
    const refusal = refusedByMemory(local, localLimits);
    const isExact = local.length < limits.length || hasCredits(entry) || request.reservation !== null;
    if (refusal === null && !isExact) {
      for (const charge of local) localLimits.admit(charge);
      return valid(entry, localReports(localLimits, limits, local, -1), nowMs);
    }
    const strict = strictOf(limits, local.length);
    const counting: Counting = { entry, request, reloads, nowMs, limits, local, strict };
    if (refusal === null) return this.#spend(counting);
    const reports = localReports(localLimits, limits, local, refusal.by);
    const verdict = this.#verdicts.refuse(entry, refusal.code, reports, nowMs);
    return request.idempotency !== null && isExact ? this.#earlierAnswerOr(verdict, counting) : verdict;
  }

  async #prepareAndCount(
    prepare: Preparation,
    entry: KeyEntry,
    request: VerifyRequest,
    reloads: number,
  ): Promise<Verdict> {
    await prepare();
    return this.#count(entry, request, reloads, this.#context.ledger.nowMs());
  }

  /** Strict limits and credits are taken together or not at all. Local charges are held until the ledger has decided. */
  #spend(counting: Counting): PromiseLike<Verdict> {
    for (const charge of counting.local) this.#context.localLimits.beginPending(charge);
    const release = (failure: unknown): never => {
      for (const charge of counting.local) this.#context.localLimits.endPending(charge, false);
      throw failure;
    };
    try {
      const { reservation } = counting.request;
      if (reservation === null) {
        return this.#ledger.spend(counting).then((outcome) => this.#conclude(counting, outcome), release);
      }
      const asked = this.#ledger.reserve(counting, reservation);
      return asked.then((outcome) => this.#concludeReserved(counting, outcome), release);
    } catch (failure) {
      return release(failure);
    }
  }

  #concludeReserved(counting: Counting, { spend, reservation }: ReserveOutcome): Verdict | PromiseLike<Verdict> {
    const verdict = this.#conclude(counting, spend);
    return 'then' in verdict ? verdict : withReservation(verdict, reservation);
  }

  #conclude(counting: Counting, outcome: SpendOutcome): Verdict | PromiseLike<Verdict> {
    const isTaken = outcome.status === 'taken' && !outcome.replayed;
    for (const charge of counting.local) this.#context.localLimits.endPending(charge, isTaken);
    switch (outcome.status) {
      case 'stale':
        return this.#decideAgain(counting);
      case 'otherMark':
        return this.#refillAndDecide(counting, outcome.mark, outcome.nowMs);
      case 'settleFirst':
        return this.#settleAndDecide(counting, outcome.account);
      default:
        return this.#verdicts.of(counting, outcome);
    }
  }

  /** No record has changed: only the refill has to begin elsewhere. */
  #refillAndDecide(decision: Decision, mark: AccountMark, nowMs: number): Verdict | PromiseLike<Verdict> {
    const { entry, request, reloads } = decision;
    if (reloads >= MAX_RELOADS) return this.#decideAgain(decision);
    this.#context.refills.learn(mark, nowMs);
    return this.#decide(entry, request, reloads + 1);
  }

  /** A grant or a reservation has expired, or a refill depends on them. The first request to notice saves the result. */
  async #settleAndDecide(decision: Decision, account: number): Promise<Verdict> {
    const { entry, request, reloads } = decision;
    if (reloads >= MAX_RELOADS) return this.#decideAgain(decision);
    await this.#context.dueCredits.settle(entry.credits?.account === account ? entry.id : (entry.identity?.id ?? ''));
    return this.#decide(entry, request, reloads + 1);
  }

  /** A retry of a charged request gets its earlier answer, although the local limit is used up by now. */
  async #earlierAnswerOr(refusal: Verdict, counting: Counting): Promise<Verdict> {
    const earlier = await this.#ledger.earlierAnswer(counting);
    if (earlier === null) return refusal;
    if (earlier.spend.status === 'stale') return this.#decideAgain(counting);
    return withReservation(this.#verdicts.of(counting, earlier.spend), earlier.reservation);
  }

  async #decideAgain({ entry, request, reloads }: Decision): Promise<Verdict> {
    const { keyCache: keys } = this.#context;
    if (reloads >= MAX_RELOADS) {
      const why = 'keeps changing, or its credits and limits do not match its record';
      throw new AppError('UNAVAILABLE', `The key ${entry.id} ${why}; nothing was spent. Try again.`);
    }
    for (const digest of digestsOf(request)) keys.drop(digest);
    // Drops its identity and plan only if no other request has read them again already.
    keys.dropSourcesOf(entry);
    return this.#findAndDecide(request, reloads + 1);
  }
}

/** The key or its identity is to be on another plan by now. */
function isMoveDue({ identity, extras }: KeyEntry, nowMs: number): boolean {
  return nowMs >= ((identity ?? extras)?.planMovesAtMs ?? Infinity);
}

/** A decision that has to be made once more. */
type Decision = Pick<Counting, 'entry' | 'request' | 'reloads'>;

function digestsOf({ secretDigest, olderDigests }: VerifyRequest): readonly string[] {
  return [secretDigest ?? '', ...(olderDigests?.() ?? [])];
}

function strictOf(limits: readonly AppliedLimit[], localCount: number): readonly AppliedLimit[] {
  if (localCount === 0) return limits;
  return localCount === limits.length ? NO_LIMITS : limits.filter(({ async }) => !async);
}

/** Asks the ledger for the strict limits and the credits of a verification. */
class AskLedger {
  readonly #keys: KeyCache;
  readonly #ledger: Ledger;
  readonly #adHoc: AdHocLimits;
  readonly #refills: RefillSchedules;

  constructor(keys: KeyCache, ledger: Ledger, adHoc: AdHocLimits, refills: RefillSchedules) {
    this.#keys = keys;
    this.#ledger = ledger;
    this.#adHoc = adHoc;
    this.#refills = refills;
  }

  spend(counting: Counting): PromiseLike<SpendOutcome> {
    return areOpen(counting) ? this.#ledger.spend(this.#spendOf(counting, null)) : this.#openAndSpend(counting);
  }

  /** The same, but the credits are held. */
  async reserve(counting: Counting, terms: ReservationTerms): Promise<ReserveOutcome> {
    const adHoc = areOpen(counting) ? null : await this.#adHoc.accounts(counting.entry, counting.strict);
    const charges = ledgerCharges(counting, { adHoc, refills: this.#refills, nowMs: this.#ledger.nowMs() });
    const wanted = newReservation(counting, terms, false);
    const following = followingOf(counting, charges);
    return this.#ledger.reserve(this.#reservingSpend(counting, charges), { ...wanted, following });
  }

  /** What a retry was answered before; null = nothing. A key whose records have changed gets `stale`: it may no longer be valid. */
  async earlierAnswer(counting: Counting): Promise<ReserveOutcome | null> {
    const { entry, request } = counting;
    if (request.idempotency === null) return null;
    if (request.reservation !== null) {
      const wanted = newReservation(counting, request.reservation, true);
      const outcome = await this.#ledger.reserve(this.#reservingSpend(counting, []), wanted);
      return outcome.spend.status === 'refused' ? null : outcome;
    }
    const check = await this.#ledger.spend({
      charges: [],
      fences: everyFenceOf(counting),
      idempotency: null,
    });
    if (check.status === 'stale') return { spend: check, reservation: null };
    const earlier = await this.#ledger.findAnswer({ scope: entry.id, ...request.idempotency });
    return earlier === null ? null : { spend: earlier, reservation: null };
  }

  /** Ad-hoc strict limits need their accounts first. */
  async #openAndSpend(counting: Counting): Promise<SpendOutcome> {
    const adHoc = await this.#adHoc.accounts(counting.entry, counting.strict);
    return this.#ledger.spend(this.#spendOf(counting, adHoc));
  }

  /** It names all records that decided it, because an earlier reservation is answered before its charges are looked at. */
  #reservingSpend(counting: Counting, charges: readonly Charge[]): Spend {
    return { charges, fences: everyFenceOf(counting), idempotency: null };
  }

  #spendOf(counting: Counting, adHoc: readonly (number | null)[] | null): Spend {
    const charges = ledgerCharges(counting, { adHoc, refills: this.#refills, nowMs: this.#ledger.nowMs() });
    return new VerificationSpend(this.#keys, counting, charges);
  }
}

/** Its fences are made when they are asked for. With a check that still counts, they are not needed. */
class VerificationSpend implements Spend, RecordsCheck {
  readonly charges: readonly Charge[];
  readonly idempotency: Spend['idempotency'];
  readonly #keys: KeyCache;
  readonly #counting: Counting;
  #fences: readonly Fence[] | null = null;

  constructor(keys: KeyCache, counting: Counting, charges: readonly Charge[]) {
    const { entry, request } = counting;
    this.charges = charges;
    this.idempotency = request.idempotency && { scope: entry.id, ...request.idempotency };
    this.#keys = keys;
    this.#counting = counting;
  }

  get fences(): readonly Fence[] {
    return (this.#fences ??= fencesOf(this.#counting));
  }

  /** It covers the key, its identity and its plan. It does not cover the roles of a request that asks for permissions. */
  get lastCheck(): RecordsCheck | undefined {
    const { entry, request } = this.#counting;
    const isByItself = entry.identity === null && entry.plan === null;
    return isByItself || request.permissions !== null ? undefined : this;
  }

  get checkedAt(): number {
    return this.#keys.checkedAt(this.#counting.entry);
  }

  set checkedAt(change: number) {
    this.#keys.keepChecked(this.#counting.entry, change);
  }
}

/** All strict limits have an account. */
function areOpen({ entry, strict }: Counting): boolean {
  return strict.every((limit) => limit.account !== null || windowOf(entry, limit) !== null);
}

/** `isOnlyFound`: only an earlier reservation under the same idempotency key is asked for. */
function newReservation(
  { entry, request }: Counting,
  { id, ttlMs, onExpiry }: ReservationTerms,
  isOnlyFound: boolean,
): NewReservation {
  const { credits, sharedCredits, identity } = entry;
  const held = [credits, sharedCredits];
  return {
    id,
    keyId: entry.id,
    apiId: entry.apiId,
    identityId: identity !== null && sharedCredits !== null ? identity.id : null,
    cost: request.creditCost,
    ttlMs,
    onExpiry,
    idempotency: request.idempotency,
    counted: { tags: request.tags, identityId: identity?.id ?? null },
    metered: held.flatMap((each) => (each?.metered ? each.account : [])),
    following: [],
    isOnlyFound,
  };
}

/** Strict limits that the request names with the cost of the reservation: they count the same thing as the credits. */
function followingOf({ request, strict }: Counting, charges: readonly Charge[]): readonly number[] {
  const named = request.limits?.filter(({ cost }) => cost === request.creditCost) ?? [];
  // The charges of strict limits come first.
  return strict.flatMap(({ name }, i) => (named.some((each) => each.name === name) ? (charges[i]?.account ?? []) : []));
}

/**
 * The records that decided a verification, except those whose revision a charge of its spend names: every account carries the revision
 * of its record. Most keys have counters of their own and need no fence.
 */
function fencesOf(counting: Counting): readonly Fence[] {
  const { entry, request, strict } = counting;
  const { credits, sharedCredits, identity, plan } = entry;
  const key = credits !== null || strict.some((limit) => !limit.ofIdentity && hasAccount(entry, limit));
  if (key && identity === null && plan === null && request.permissions === null) return NO_FENCES;
  const ofIdentity = strict.some((limit) => limit.ofIdentity && hasAccount(entry, limit));
  return fencesBeside(counting, {
    key,
    identity: ofIdentity || sharedCredits !== null,
  });
}

/** All records that decided a verification, for a spend without charges. */
function everyFenceOf(counting: Counting): readonly Fence[] {
  return fencesBeside(counting, { key: false, identity: false });
}

function fencesBeside({ entry, request }: Counting, isNamed: { key: boolean; identity: boolean }): readonly Fence[] {
  const { identity } = entry;
  const plan = entry.plan ?? identity?.plan ?? null;
  const fences: Fence[] = [];
  if (!isNamed.key) fences.push(recordFence('key', entry.id, entry.revision));
  if (identity !== null && !isNamed.identity) fences.push(recordFence('identity', identity.id, identity.revision));
  if (plan !== null) fences.push(plan.fence);
  if (request.permissions !== null) fences.push(...permissionFences(entry, request.permissions));
  return fences;
}

/** False for an ad-hoc limit and for one of a plan: their windows belong to no record. */
function hasAccount(entry: KeyEntry, limit: AppliedLimit): boolean {
  return accountOf(entry, limit) !== null;
}

/** The permissions that let the key pass, and the roles that brought them. */
function permissionFences(entry: KeyEntry, query: PermissionQuery): Fence[] {
  const held = entry.extras?.permissions?.held ?? NO_PERMISSIONS;
  return grantsFor(held, query).flatMap(({ permissionId, role }) => [
    permissionFence(permissionId),
    ...(role === null ? [] : [recordFence('role', role.id, role.revision)]),
  ]);
}
