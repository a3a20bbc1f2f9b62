import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { LegRule } from '../../core/account.ts';
import { type Address, inBlock } from '../../core/address.ts';
import { AppError } from '../../core/errors.ts';
import { NO_PERMISSIONS, type PermissionQuery, satisfies } from '../../core/permissions.ts';
import type { CreditsRecord } from '../../core/records.ts';
import type { IdempotencyKey, Leg, LegResult, SpendOutcome } from '../../core/spend.ts';
import type { Freshness } from '../../storage/port/freshness.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import { AdHocLimits } from './adHocLimits.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { everyFenceOf, fencesOf } from './fences.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { accountOf, type AppliedLimit, appliedLimits, type LimitRequest, ownerOf } from './appliedLimits.ts';
import { findWindow, type LocalLeg, type LocalOwner } from '../local/localWindow.ts';
import type { Refills } from '../refill/refillPlans.ts';
import { type LimitReport, UNKNOWN_KEY, type Verdict } from './verdict.ts';

export interface VerifyRequest {
  /** What the secret is stored under; null when the secret has a shape that no key can have. */
  readonly secretDigest: string | null;
  /** Where else to look when that is unknown: digests under older peppers. */
  readonly olderDigests: (() => readonly string[]) | null;
  readonly apiId: string | null;
  readonly creditCost: number;
  readonly limits: readonly LimitRequest[] | null;
  /** What the key must be allowed to do; null = not asked. */
  readonly permissions: PermissionQuery | null;
  /** How the verification is counted, beside its key. */
  readonly tags: readonly string[] | null;
  readonly caller: Caller;
  readonly idempotency: { readonly id: string; readonly requestDigest: string } | null;
  /** Apis whose keys the caller may verify; null = all. Another api's key looks to it like an unknown one. */
  readonly mayVerify: ((apiId: string) => boolean) | null;
}

/** Who asks. The address is looked up only for keys that are tied to some. */
export interface Caller {
  address(): Address | null;
}

export interface VerifyParts {
  readonly keys: KeyCache;
  readonly localLimits: LocalLimits;
  readonly ledger: Ledger;
  readonly freshness: Freshness;
  readonly refills: Refills;
}

/** What a verification waits for before it is counted. */
type First = () => Promise<void>;

const NO_LIMITS: readonly AppliedLimit[] = [];
const NO_LEGS: readonly LocalLeg[] = [];
const WITHOUT_REFILL: LegRule = { kind: 'credits', refill: null };

/** A record or refill epoch that changed under the request is read anew this often, then the request gives up. */
const MAX_RELOADS = 2;

/**
 * The verify pipeline. The checks that need no counter, in the order of their codes; then local limits, then one spend
 * of the strict limits and the credits. While nothing exact is asked, it answers in the same turn, with no I/O.
 */
export class Verifier {
  readonly #parts: VerifyParts;
  readonly #adHoc: AdHocLimits;
  #stopped: string | null = null;

  constructor(parts: VerifyParts) {
    this.#parts = parts;
    this.#adHoc = new AdHocLimits(parts.localLimits, parts.ledger);
  }

  /** From now on every question is refused: nothing may be called valid any more. */
  stop(reason: string): void {
    this.#stopped = reason;
  }

  get stoppedBecause(): string | null {
    return this.#stopped;
  }

  verify(request: VerifyRequest): Verdict | PromiseLike<Verdict> {
    if (this.#stopped !== null) throw new AppError('UNAVAILABLE', this.#stopped);
    if (request.secretDigest === null) return UNKNOWN_KEY;
    return this.#parts.freshness.isFresh()
      ? this.#verify(request, request.secretDigest)
      : this.#confirmAndVerify(request);
  }

  /** What is known here may be too old: asked once for all who wait, never once for each key. */
  async #confirmAndVerify(request: VerifyRequest): Promise<Verdict> {
    await this.#parts.freshness.confirm();
    return this.#verify(request, request.secretDigest ?? '');
  }

  #verify(request: VerifyRequest, digest: string): Verdict | PromiseLike<Verdict> {
    const entry = this.#parts.keys.peek(digest);
    if (entry === undefined || (entry === null && request.olderDigests !== null)) return this.#findAndDecide(request);
    return this.#decide(entry, request, 0);
  }

  async #findAndDecide(request: VerifyRequest): Promise<Verdict> {
    return this.#decide(await this.#find(request), request, 0);
  }

  async #find({ secretDigest, olderDigests }: VerifyRequest): Promise<KeyEntry | null> {
    for (const digest of [secretDigest ?? '', ...(olderDigests?.() ?? [])]) {
      const known = this.#parts.keys.peek(digest);
      const entry = known === undefined ? await this.#parts.keys.lookUp(digest) : known;
      if (entry !== null) return entry;
    }
    return null;
  }

  #decide(entry: KeyEntry | null, request: VerifyRequest, reloads: number): Verdict | PromiseLike<Verdict> {
    const nowMs = this.#parts.ledger.nowMs();
    if (entry === null || request.mayVerify?.(entry.apiId) === false) return UNKNOWN_KEY;
    if (entry.extras !== null && nowMs >= entry.extras.secretUntilMs) return UNKNOWN_KEY;
    const refusal =
      checkApi(entry, request) ?? //
      checkEnabled(entry) ??
      checkExpiry(entry, nowMs) ??
      checkAddress(entry, request) ??
      checkPermissions(entry, request);
    if (refusal !== null) return this.#refuse(entry, refusal, null, nowMs);
    if (entry.limits === null && request.limits === null && !hasCredits(entry)) return valid(entry, null, nowMs);
    return this.#count(entry, request, reloads, nowMs);
  }

  /** Everything that is counted: local limits from memory, the rest by the ledger. */
  #count(entry: KeyEntry, request: VerifyRequest, reloads: number, nowMs: number): Verdict | PromiseLike<Verdict> {
    const limits = appliedLimits(entry, request.limits);
    if (areExact(limits)) return this.#spendExact({ entry, request, reloads, nowMs, limits, local: NO_LEGS });
    const local = this.#localLegs(entry, limits, nowMs);
    if (typeof local === 'function') return this.#waitAndCount(entry, request, reloads, local);
    const refusedBy = this.#firstRefusal(local);
    if (refusedBy < 0 && local.length === limits.length && !hasCredits(entry)) {
      for (const leg of local) this.#parts.localLimits.admit(leg);
      return valid(entry, this.#localReports(limits, local, -1), nowMs);
    }
    const counted: Counted = { entry, request, reloads, nowMs, limits, local };
    if (refusedBy < 0) return this.#spendAll(counted);
    const refusal = this.#refuse(entry, 'RATE_LIMITED', this.#localReports(limits, local, refusedBy), nowMs);
    return request.idempotency === null ? refusal : this.#replayOr(refusal, counted);
  }

  async #waitAndCount(entry: KeyEntry, request: VerifyRequest, reloads: number, first: First): Promise<Verdict> {
    await first();
    return this.#count(entry, request, reloads, this.#parts.ledger.nowMs());
  }

  /** A retry of what was charged already is answered as it was, although the limit is used up by now. */
  async #replayOr(refusal: Verdict, counted: Counted): Promise<Verdict> {
    const { entry, request, limits } = counted;
    const strict = limits.filter(({ async }) => !async);
    if (request.idempotency === null || (strict.length === 0 && !hasCredits(entry))) return refusal;
    // What may not pass any more is not answered as it was.
    const asked = { legs: [], fences: everyFenceOf(counted), idempotency: null };
    if ((await this.#parts.ledger.spend(asked)).status === 'stale') return this.#decideAgain(counted);
    const replayed = await this.#parts.ledger.findReplay({ scope: entry.id, ...request.idempotency });
    return replayed === null ? refusal : this.#toVerdict(counted, strict, replayed);
  }

  /** Without local limits there is nothing to hold meanwhile, and no account to ask for first. */
  #spendExact(counted: Counted): PromiseLike<Verdict> {
    const { limits } = counted;
    const legs = this.#exactLegs(counted, limits, null);
    const fences = fencesOf(counted, limits);
    const spent = this.#parts.ledger.submit({ legs, fences, idempotency: idempotencyOf(counted) });
    return spent.then((outcome) =>
      outcome.status === 'stale' ? this.#decideAgain(counted) : this.#toVerdict(counted, limits, outcome),
    );
  }

  /** Local legs are held while the ledger decides; they become admitted with the spend or are released. */
  async #spendAll(counted: Counted): Promise<Verdict> {
    const { entry, limits, local } = counted;
    const strict = local.length === limits.length ? NO_LIMITS : limits.filter(({ async }) => !async);
    for (const leg of local) this.#parts.localLimits.hold(leg);
    let outcome: SpendOutcome | null = null;
    try {
      const adHoc = strict.some(({ account }) => account === null) ? await this.#adHoc.accounts(entry, strict) : null;
      const legs = this.#exactLegs(counted, strict, adHoc);
      const fences = fencesOf(counted, strict);
      outcome = await this.#parts.ledger.spend({ legs, fences, idempotency: idempotencyOf(counted) });
    } finally {
      const isTaken = outcome?.status === 'taken' && !outcome.replayed;
      for (const leg of local) this.#parts.localLimits.settle(leg, isTaken);
    }
    return outcome.status === 'stale' ? this.#decideAgain(counted) : this.#toVerdict(counted, strict, outcome);
  }

  /** In the order of the checks: strict limits, then credits of the key, then those of its identity. */
  #exactLegs(
    { entry, request }: Counted,
    strict: readonly AppliedLimit[],
    adHoc: readonly (number | null)[] | null,
  ): readonly Leg[] {
    const legs: Leg[] = [];
    const { identity } = entry;
    for (let i = 0; i < strict.length; i++) {
      const applied = strict[i] as AppliedLimit;
      const { cost, limit, durationMs, ofIdentity } = applied;
      const account = accountOf(entry, applied);
      const rule = { kind: 'window', limit, durationMs } as const;
      const revision = account === null ? 0 : ofIdentity ? (identity?.revision ?? 0) : entry.revision;
      legs.push({ account: account ?? adHoc?.[i] ?? 0, amount: cost, rule, revision });
    }
    if (entry.credits !== null) legs.push(this.#creditLeg(entry.credits, request.creditCost, entry.revision));
    if (identity !== null && identity.credits !== null) {
      legs.push(this.#creditLeg(identity.credits, request.creditCost, identity.revision));
    }
    return legs;
  }

  #creditLeg({ account, refill }: CreditsRecord, amount: number, revision: number): Leg {
    const rule: LegRule =
      refill === null
        ? WITHOUT_REFILL
        : { kind: 'credits', refill: this.#parts.refills.plan(refill, this.#parts.ledger.nowMs()) };
    return { account, amount, rule, revision };
  }

  async #decideAgain({ entry, request, reloads }: Counted): Promise<Verdict> {
    if (reloads >= MAX_RELOADS) {
      const why = 'is being changed all the time, or its counters do not fit its record';
      throw new AppError('UNAVAILABLE', `The key ${entry.id} ${why}; nothing was spent.`);
    }
    for (const digest of [request.secretDigest ?? '', ...(request.olderDigests?.() ?? [])])
      this.#parts.keys.drop(digest);
    // Unless another request has read it anew already.
    if (entry.identity !== null) this.#parts.keys.dropIdentityOf(entry.identity);
    return this.#decide(await this.#find(request), request, reloads + 1);
  }

  #toVerdict(counted: Counted, strict: readonly AppliedLimit[], outcome: SpendOutcome): Verdict {
    switch (outcome.status) {
      case 'taken':
      case 'refused': {
        const by = outcome.status === 'refused' ? outcome.by : -1;
        const code: VerdictCode = by < 0 ? 'VALID' : by < strict.length ? 'RATE_LIMITED' : 'USAGE_EXCEEDED';
        const remaining = leastLeft(outcome.legs, strict.length, countersOf(counted.entry));
        const limits = counted.limits.length === 0 ? null : this.#reports(counted, outcome, by);
        const replayed = outcome.status === 'taken' && outcome.replayed;
        // The ledger decides later than it is asked; what it decided once before is answered now.
        const atMs = replayed ? counted.nowMs : outcome.nowMs;
        return { code, key: counted.entry, remaining, limits, replayed, atMs };
      }
      case 'conflict':
        throw new AppError('CONFLICT', 'This idempotency key was used with another request.');
      case 'crowded':
        throw new AppError('RATE_LIMITED', 'This key has too many live idempotency keys; wait until some have ended.');
      case 'failed':
        throw new AppError(
          'INTERNAL_SERVER_ERROR',
          `The counters of key ${counted.entry.id} cannot be changed: ${outcome.reason}.`,
        );
      case 'stale':
        throw new Error('stale outcomes are decided again');
    }
  }

  /** In the order of the key's limits: local ones as this node counts them, strict ones as the ledger answered. */
  #reports(
    { limits, local }: Counted,
    outcome: SpendOutcome & { status: 'taken' | 'refused' },
    by: number,
  ): LimitReport[] {
    const reports: LimitReport[] = [];
    let [nextLocal, nextStrict] = [0, 0];
    for (const limit of limits) {
      if (limit.async) {
        const leg = local[nextLocal++] as LocalLeg;
        reports.push(report(limit, this.#parts.localLimits.left(leg), leg.resetAtMs, false));
      } else {
        const result = outcome.legs[nextStrict];
        reports.push(report(limit, result?.left ?? 0, result?.resetAtMs ?? 0, nextStrict === by));
        nextStrict++;
      }
    }
    return reports;
  }

  /** Or what has to be waited for first: counters are loaded, or room is made for another one. */
  #localLegs(entry: KeyEntry, limits: readonly AppliedLimit[], nowMs: number): LocalLeg[] | First {
    const legs: LocalLeg[] = [];
    for (const applied of limits) {
      if (!applied.async) continue;
      const owner = applied.ofIdentity ? this.#parts.localLimits.owner(ownerOf(entry, applied)) : this.#ownOwner(entry);
      if (owner === undefined) return this.#loading(ownerOf(entry, applied));
      const isNew = applied.isAdHoc && findWindow(owner.windows, applied) === undefined;
      if (isNew && !this.#adHoc.hasRoom(entry, nowMs)) return this.#makingRoom(entry);
      const window = this.#parts.localLimits.window(owner, applied, nowMs);
      legs.push({ window, limit: applied.limit, cost: applied.cost, resetAtMs: window.resetAtMs });
    }
    return legs;
  }

  // Apart from the loop above: what it would capture there is allocated for every verification.
  #loading(owner: string): First {
    return () => this.#parts.localLimits.load(owner, this.#parts.ledger.nowMs());
  }

  #makingRoom(entry: KeyEntry): First {
    return () => this.#adHoc.makeRoom(entry);
  }

  /** By the key itself: among 100,000 owners one is not found by its id for nothing. */
  #ownOwner(entry: KeyEntry): LocalOwner | undefined {
    if (entry.local !== null && !entry.local.isForgotten) return entry.local;
    const owner = this.#parts.localLimits.owner(entry.id);
    if (owner !== undefined) this.#parts.keys.keepLocal(entry, owner);
    return owner;
  }

  #firstRefusal(local: readonly LocalLeg[]): number {
    for (let i = 0; i < local.length; i++) if (!this.#parts.localLimits.allows(local[i] as LocalLeg)) return i;
    return -1;
  }

  #localReports(limits: readonly AppliedLimit[], local: readonly LocalLeg[], refusedBy: number): LimitReport[] {
    const reports: LimitReport[] = [];
    for (const limit of limits) {
      const leg = limit.async ? local[reports.length] : undefined;
      if (leg !== undefined) {
        reports.push(report(limit, this.#parts.localLimits.left(leg), leg.resetAtMs, reports.length === refusedBy));
      }
    }
    return reports;
  }

  /** A refusal before the ledger was asked takes nothing; it tells the balance where that is known without asking. */
  #refuse(entry: KeyEntry, code: VerdictCode, limits: readonly LimitReport[] | null, nowMs: number): Verdict {
    const own = this.#peek(entry.credits, nowMs);
    const shared = this.#peek(entry.identity?.credits ?? null, nowMs);
    // One that is not known could be the smaller one: then nothing is told.
    const isKnown = own !== undefined && shared !== undefined;
    const remaining = !isKnown ? null : own === null || shared === null ? (own ?? shared) : Math.min(own, shared);
    return { code, key: entry, remaining, limits, replayed: false, atMs: nowMs };
  }

  /** The balance where it is known without asking; null: there is no counter, undefined: it is not known. */
  #peek(credits: CreditsRecord | null, nowMs: number): number | null | undefined {
    if (credits === null) return null;
    const state = this.#parts.ledger.peek(credits.account);
    return state === undefined ? undefined : this.#parts.refills.balance(state, credits.refill, nowMs);
  }
}

export interface Counted {
  readonly entry: KeyEntry;
  readonly request: VerifyRequest;
  readonly reloads: number;
  readonly nowMs: number;
  readonly limits: readonly AppliedLimit[];
  readonly local: readonly LocalLeg[];
}

/** Strict ones whose accounts are known. */
function areExact(limits: readonly AppliedLimit[]): boolean {
  for (const { async, account } of limits) if (async || account === null) return false;
  return true;
}

function idempotencyOf({ entry, request }: Counted): IdempotencyKey | null {
  return request.idempotency && { scope: entry.id, ...request.idempotency };
}

function checkApi(entry: KeyEntry, request: VerifyRequest): VerdictCode | null {
  return request.apiId !== null && request.apiId !== entry.apiId ? 'FORBIDDEN' : null;
}

function checkEnabled(entry: KeyEntry): VerdictCode | null {
  return entry.enabled ? null : 'DISABLED';
}

/** Valid strictly before the instant, expired at it and after. */
function checkExpiry(entry: KeyEntry, nowMs: number): VerdictCode | null {
  return nowMs >= entry.expiresAtMs ? 'EXPIRED' : null;
}

function checkAddress(entry: KeyEntry, request: VerifyRequest): VerdictCode | null {
  const blocks = entry.extras?.allowedBlocks ?? null;
  if (blocks === null) return null;
  const address = request.caller.address();
  return address !== null && blocks.some((block) => inBlock(address, block)) ? null : 'FORBIDDEN';
}

function checkPermissions(entry: KeyEntry, { permissions }: VerifyRequest): VerdictCode | null {
  if (permissions === null) return null;
  const held = entry.extras?.access?.held ?? NO_PERMISSIONS;
  return satisfies(held, permissions) ? null : 'INSUFFICIENT_PERMISSIONS';
}

function countersOf({ credits, identity }: KeyEntry): number {
  return (credits === null ? 0 : 1) + (identity === null || identity.credits === null ? 0 : 1);
}

/** What is left of the credits; null where there are none. */
function leastLeft(legs: readonly LegResult[], first: number, count: number): number | null {
  let least: number | null = null;
  for (let i = first; i < first + count; i++) {
    const left = legs[i]?.left ?? Infinity;
    if (left < (least ?? Infinity)) least = left;
  }
  return least;
}

/** Its own, or those that it shares with the other keys of its identity. */
function hasCredits({ credits, identity }: KeyEntry): boolean {
  return credits !== null || (identity !== null && identity.credits !== null);
}

function valid(key: KeyEntry, limits: readonly LimitReport[] | null, atMs: number): Verdict {
  return { code: 'VALID', key, remaining: null, limits, replayed: false, atMs };
}

function report(limit: AppliedLimit, remaining: number, resetAtMs: number, exceeded: boolean): LimitReport {
  return { limit, remaining, resetAtMs, exceeded };
}
