import { type AccountState, current, isPlanStale, left, type LegRule, taken } from './account.ts';
import type { Fence } from './fence.ts';

/** One part of a spend: an amount of one account, under a rule, decided under a revision of the account's record. */
export interface Leg {
  readonly account: number;
  readonly amount: number;
  readonly rule: LegRule;
  readonly revision: number;
}

export interface IdempotencyKey {
  /** The key that is verified. Two keys may use the same idempotency key. */
  readonly scope: string;
  readonly id: string;
  /** Digest of the parsed request. The same id with another request is a conflict. */
  readonly requestDigest: string;
}

/** Legs that are checked in this order. All of them are taken, or none. */
export interface Spend {
  readonly legs: readonly Leg[];
  /** The records that decided this spend, except those whose revision a leg names. */
  readonly fences: readonly Fence[];
  readonly idempotency: IdempotencyKey | null;
}

export interface LegResult {
  /** How much can still be used after this spend. */
  readonly left: number;
  /** End of the window, or the instant of the next refill (0 = none). */
  readonly resetAtMs: number;
}

export type SpendOutcome =
  | {
      readonly status: 'taken';
      readonly legs: readonly LegResult[];
      readonly nowMs: number;
      readonly replayed: boolean;
    }
  | { readonly status: 'refused'; readonly by: number; readonly legs: readonly LegResult[]; readonly nowMs: number }
  /** Decided under an older record or another refill epoch. The caller reloads and asks again. `fence`: the first that is broken. */
  | { readonly status: 'stale'; readonly nowMs: number; readonly fence: Fence | null }
  /** The idempotency key was used with another request. */
  | { readonly status: 'conflict' }
  /** The key has too many live idempotency keys. */
  | { readonly status: 'crowded' }
  /** This spend alone failed (its row breaks a constraint). The others of its batch were carried out. */
  | { readonly status: 'failed'; readonly reason: string };

/** The answer that a charged spend leaves under its idempotency key. */
export interface RememberedAnswer {
  readonly requestDigest: string;
  readonly legs: readonly LegResult[];
  readonly nowMs: number;
}

/** What `decideSpend` reads and writes: accounts and remembered answers, as the spends before this one left them. */
export interface LedgerView {
  /** The fenced record still has the revision that the fence names. */
  holds(fence: Fence): boolean;
  account(id: number): AccountState | undefined;
  put(id: number, state: AccountState): void;
  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined;
  liveIdempotencyKeys(scope: string): number;
  remember(key: IdempotencyKey, answer: RememberedAnswer): void;
}

/**
 * The reference for every ledger: decides one spend on the state that the spends before it left. A batch has the same result as
 * this function called for its spends one by one, in arrival order. The conformance suite compares every adapter with it.
 */
export function decideSpend(view: LedgerView, spend: Spend, nowMs: number, maxLiveKeys: number): SpendOutcome {
  for (const fence of spend.fences) if (!view.holds(fence)) return { status: 'stale', nowMs, fence };
  const open: OpenLeg[] = [];
  for (const leg of spend.legs) {
    const stored = view.account(leg.account);
    if (stored === undefined || isStale(leg, stored, nowMs)) return { status: 'stale', nowMs, fence: null };
    open.push({ leg, stored, now: current(stored, leg.rule, nowMs) });
  }
  const answered = spend.idempotency === null ? null : findAnswer(view, spend.idempotency, maxLiveKeys);
  return answered ?? takeLegs(view, spend, open, nowMs);
}

/** A leg with its account: as it is stored, and as it is now (refilled, or in the running window). */
interface OpenLeg {
  readonly leg: Leg;
  readonly stored: AccountState;
  readonly now: AccountState;
}

function isStale({ rule, revision }: Leg, stored: AccountState, nowMs: number): boolean {
  if (stored.kind !== rule.kind || stored.revision !== revision) return true;
  return rule.kind === 'credits' && isPlanStale(rule.refill, nowMs);
}

/** The remembered answer under this idempotency key, a conflict, or null when there is none. */
export function answerUnder(view: LedgerView, key: IdempotencyKey): SpendOutcome | null {
  const stored = view.rememberedAnswer(key);
  if (stored === undefined) return null;
  if (stored.requestDigest !== key.requestDigest) return { status: 'conflict' };
  return { status: 'taken', legs: stored.legs, nowMs: stored.nowMs, replayed: true };
}

function findAnswer(view: LedgerView, key: IdempotencyKey, maxLiveKeys: number): SpendOutcome | null {
  const answered = answerUnder(view, key);
  if (answered !== null) return answered;
  return view.liveIdempotencyKeys(key.scope) >= maxLiveKeys ? { status: 'crowded' } : null;
}

function takeLegs(view: LedgerView, spend: Spend, open: readonly OpenLeg[], nowMs: number): SpendOutcome {
  const after: AccountState[] = [];
  for (let i = 0; i < open.length; i++) {
    const { leg, now } = open[i] as OpenLeg;
    // An account can be in two legs of one spend. The second leg sees what the first left.
    const state = taken(i === 0 ? now : (after[lastOf(open, leg.account, i)] ?? now), leg.rule, leg.amount);
    if (state === null) {
      return { status: 'refused', by: i, legs: open.map((each) => legResult(each.now, each.leg)), nowMs };
    }
    after.push(state);
  }
  const legs: LegResult[] = [];
  for (let i = 0; i < open.length; i++) {
    const { leg, stored } = open[i] as OpenLeg;
    const state = after[i] as AccountState;
    // An amount of 0 writes nothing: the next spend computes the same refill or window again.
    if (leg.amount > 0 && state !== stored) view.put(leg.account, state);
    legs.push(legResult(state, leg));
  }
  if (spend.idempotency !== null && spend.legs.some((leg) => leg.amount > 0)) {
    view.remember(spend.idempotency, { requestDigest: spend.idempotency.requestDigest, legs, nowMs });
  }
  return { status: 'taken', legs, nowMs, replayed: false };
}

/** The index of the last leg before `end` that takes from the account; -1 = none. */
function lastOf(open: readonly OpenLeg[], account: number, end: number): number {
  return open.findLastIndex(({ leg }, i) => i < end && leg.account === account);
}

function legResult(state: AccountState, leg: Leg): LegResult {
  const resetAtMs = leg.rule.kind === 'window' ? state.mark : (leg.rule.refill?.nextMs ?? 0);
  return { left: left(state, leg.rule), resetAtMs };
}
