import { AppError } from '../../core/errors.ts';
import type { Spend, SpendOutcome } from '../../core/spend.ts';
import type { Freshness } from '../../storage/port/freshness.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import { AdHocLimits } from './adHocLimits.ts';
import { windowOf } from '../cache/accountOf.ts';
import { appliedLimits } from './appliedLimits.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import { type Counting, hasCredits } from './counting.ts';
import { exactCharges } from './spendCharges.ts';
import { everyFenceOf, fencesOf } from './fences.ts';
import { localReports } from './limitReports.ts';
import { LocalCharges, type Preparation } from './localCharges.ts';
import { codeOfCount, refusedByRecord } from './pipeline.ts';
import type { VerifyRequest } from './request.ts';
import { UNKNOWN_KEY, valid, type Verdict, Verdicts } from './verdict.ts';

export interface VerifyContext {
  readonly keys: KeyCache;
  readonly localLimits: LocalLimits;
  readonly ledger: Ledger;
  readonly freshness: Freshness;
  readonly refills: RefillPlans;
  /** Moves an identity to the plan that it is to have by now. */
  readonly movePlan: (identityId: string) => Promise<void>;
  /** Counts every verdict; null = analytics are off. */
  readonly analytics: { count(request: VerifyRequest, verdict: Verdict): void } | null;
}

const NO_LIMITS: readonly AppliedLimit[] = [];
const OVER_LOCAL_LIMIT = codeOfCount('local limits');

/** How often a request reads a key again whose record or refill epoch changed meanwhile, before it gives up. */
const MAX_RELOADS = 2;

/**
 * The one entrance to a verification. It finds the key, runs the pipeline (pipeline.ts) and counts the verdict for analytics. When a
 * cached key has neither strict limits nor credits, it answers in the same turn, without I/O.
 */
export class Verifier {
  readonly #context: VerifyContext;
  readonly #adHoc: AdHocLimits;
  readonly #local: LocalCharges;
  readonly #verdicts: Verdicts;
  #stopped: string | null = null;

  constructor(context: VerifyContext) {
    const { keys, localLimits, ledger, refills } = context;
    this.#context = context;
    this.#adHoc = new AdHocLimits(localLimits, ledger);
    this.#local = new LocalCharges(keys, localLimits, this.#adHoc, ledger);
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
    const { analytics } = this.#context;
    const decided = this.#ask(request);
    if (analytics === null) return decided;
    if ('then' in decided) {
      return decided.then((verdict) => {
        analytics.count(request, verdict);
        return verdict;
      });
    }
    analytics.count(request, decided);
    return decided;
  }

  #ask(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    if (this.#stopped !== null) throw new AppError('UNAVAILABLE', this.#stopped);
    if (request.secretDigest === null) return UNKNOWN_KEY;
    return this.#context.freshness.isFresh() ? this.#decideCached(request) : this.#confirmAndDecide(request);
  }

  /** The cache may be too old. Freshness asks the database once for all requests that wait, not once per key. */
  async #confirmAndDecide(request: VerifyRequest): Promise<Verdict> {
    await this.#context.freshness.confirm();
    return this.#decideCached(request);
  }

  #decideCached(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    const entry = this.#context.keys.peek(request.secretDigest ?? '');
    if (entry === undefined || (entry === null && request.olderDigests !== null))
      return this.#findAndDecide(request, 0);
    return this.#decide(entry, request, 0);
  }

  async #findAndDecide(request: VerifyRequest, reloads: number): Promise<Verdict> {
    return this.#decide(await this.#find(request), request, reloads);
  }

  async #find(request: VerifyRequest): Promise<KeyEntry | null> {
    const { keys } = this.#context;
    for (const digest of digestsOf(request)) {
      const known = keys.peek(digest);
      const entry = known === undefined ? await keys.lookUp(digest) : known;
      if (entry !== null) return entry;
    }
    return null;
  }

  /** First the checks that read the record, then those that count. */
  #decide(entry: KeyEntry | null, request: VerifyRequest, reloads: number): Verdict | PromiseLike<Verdict> {
    if (entry === null) return UNKNOWN_KEY;
    const nowMs = this.#context.ledger.nowMs();
    if (entry.identity !== null && nowMs >= entry.identity.planMovesAtMs) {
      return this.#moveAndDecide(entry, request, reloads);
    }
    const code = refusedByRecord(entry, request, nowMs);
    if (code === 'NOT_FOUND') return UNKNOWN_KEY;
    if (code !== null) return this.#verdicts.refuse(entry, code, null, nowMs);
    if (entry.alwaysApplied === null && request.limits === null && !hasCredits(entry)) return valid(entry, null, nowMs);
    return this.#count(entry, request, reloads, nowMs);
  }

  /** The identity is on another plan from now on. Whoever comes first writes that down. */
  async #moveAndDecide(entry: KeyEntry, request: VerifyRequest, reloads: number): Promise<Verdict> {
    await this.#context.movePlan(entry.identity?.id ?? '');
    return this.#decideAgain({ entry, request, reloads });
  }

  /** Checks local limits in memory. When they allow the request, the ledger decides strict limits and credits. */
  #count(entry: KeyEntry, request: VerifyRequest, reloads: number, nowMs: number): Verdict | PromiseLike<Verdict> {
    const { localLimits } = this.#context;
    const limits = appliedLimits(entry, request.limits);
    const local = this.#local.of(entry, limits, nowMs);
    if (typeof local === 'function') return this.#prepareAndCount(local, entry, request, reloads);
    const refusedBy = this.#local.firstRefusal(local);
    const isExact = local.length < limits.length || hasCredits(entry);
    if (refusedBy < 0 && !isExact) {
      for (const charge of local) localLimits.admit(charge);
      return valid(entry, localReports(localLimits, limits, local, -1), nowMs);
    }
    const strict = strictOf(limits, local.length);
    const counting: Counting = { entry, request, reloads, nowMs, limits, local, strict };
    if (refusedBy < 0) return this.#spend(counting);
    const reports = localReports(localLimits, limits, local, refusedBy);
    const refusal = this.#verdicts.refuse(entry, OVER_LOCAL_LIMIT, reports, nowMs);
    return request.idempotency !== null && isExact ? this.#earlierAnswerOr(refusal, counting) : refusal;
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
    for (const charge of counting.local) this.#context.localLimits.hold(charge);
    const release = (failure: unknown): never => {
      for (const charge of counting.local) this.#context.localLimits.settle(charge, false);
      throw failure;
    };
    try {
      return this.#askLedger(counting).then((outcome) => this.#conclude(counting, outcome), release);
    } catch (failure) {
      return release(failure);
    }
  }

  #askLedger(counting: Counting): PromiseLike<SpendOutcome> {
    const { entry, strict } = counting;
    const isOpen = strict.every((limit) => limit.account !== null || windowOf(entry, limit) !== null);
    return isOpen ? this.#context.ledger.spend(this.#spendOf(counting, null)) : this.#openAndSpend(counting);
  }

  /** Ad-hoc strict limits need their accounts first. */
  async #openAndSpend(counting: Counting): Promise<SpendOutcome> {
    const adHoc = await this.#adHoc.accounts(counting.entry, counting.strict);
    return this.#context.ledger.spend(this.#spendOf(counting, adHoc));
  }

  #spendOf(counting: Counting, adHoc: readonly (number | null)[] | null): Spend {
    const { ledger, refills } = this.#context;
    const { entry, request } = counting;
    return {
      charges: exactCharges(counting, adHoc, refills, ledger.nowMs()),
      fences: fencesOf(counting),
      idempotency: request.idempotency && { scope: entry.id, ...request.idempotency },
    };
  }

  #conclude(counting: Counting, outcome: SpendOutcome): Verdict | PromiseLike<Verdict> {
    const isTaken = outcome.status === 'taken' && !outcome.replayed;
    for (const charge of counting.local) this.#context.localLimits.settle(charge, isTaken);
    if (outcome.status !== 'stale') return this.#verdicts.of(counting, outcome);
    const { entry, request, reloads } = counting;
    if (outcome.mark === undefined || reloads >= MAX_RELOADS) return this.#decideAgain(counting);
    // No record has changed: only the refill has to begin elsewhere.
    this.#context.refills.learn(outcome.mark, outcome.nowMs);
    return this.#decide(entry, request, reloads + 1);
  }

  /** A retry of a charged request gets its earlier answer, although the local limit is used up by now. */
  async #earlierAnswerOr(refusal: Verdict, counting: Counting): Promise<Verdict> {
    const { ledger } = this.#context;
    const { entry, request } = counting;
    if (request.idempotency === null) return refusal;
    // A key whose records have changed gets no earlier answer: it may no longer be valid.
    const check = await ledger.spend({ charges: [], fences: everyFenceOf(counting), idempotency: null });
    if (check.status === 'stale') return this.#decideAgain(counting);
    const earlier = await ledger.findAnswer({ scope: entry.id, ...request.idempotency });
    return earlier === null ? refusal : this.#verdicts.of(counting, earlier);
  }

  async #decideAgain({ entry, request, reloads }: Decision): Promise<Verdict> {
    const { keys } = this.#context;
    if (reloads >= MAX_RELOADS) {
      const why = 'keeps changing, or its counters do not match its record';
      throw new AppError('UNAVAILABLE', `The key ${entry.id} ${why}; nothing was spent.`);
    }
    for (const digest of digestsOf(request)) keys.drop(digest);
    // Drops the identity only if no other request has read it again already.
    if (entry.identity !== null) keys.dropIdentityOf(entry.identity);
    return this.#findAndDecide(request, reloads + 1);
  }
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
