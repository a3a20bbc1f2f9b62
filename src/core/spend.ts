import { type AccountState, current, isPlanStale, left, type LegRule, taken } from './account.ts';
import type { Fence } from './fence.ts';

/** One part of a spend: so much of this account, under this rule, decided under this revision of its record. */
export interface Leg {
  readonly account: number;
  readonly amount: number;
  readonly rule: LegRule;
  readonly revision: number;
}

export interface IdempotencyKey {
  /** The key that is verified: idempotency keys of two keys never meet. */
  readonly scope: string;
  readonly id: string;
  /** Digest of the parsed request: the same id with another request is a conflict. */
  readonly requestDigest: string;
}

/** Legs in the order in which they are checked: all are taken, or none. */
export interface Spend {
  readonly legs: readonly Leg[];
  /** The records that decided this spend and whose revision no leg names. */
  readonly fences: readonly Fence[];
  readonly idempotency: IdempotencyKey | null;
}

export interface LegResult {
  /** What can still be used after this spend. */
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
  /** Decided under an older record or another refill epoch: reload and ask again. `fence`: the first one that no longer holds. */
  | { readonly status: 'stale'; readonly nowMs: number; readonly fence: Fence | null }
  /** The idempotency key was used with another request. */
  | { readonly status: 'conflict' }
  /** Too many live idempotency keys of this key. */
  | { readonly status: 'crowded' }
  /** This spend alone cannot be carried out (a row that breaks a constraint); the others of its batch were. */
  | { readonly status: 'failed'; readonly reason: string };

/** What a charged spend leaves behind under its idempotency key. */
export interface RememberedAnswer {
  readonly requestDigest: string;
  readonly legs: readonly LegResult[];
  readonly nowMs: number;
}

/** What `decideSpend` reads and writes: the accounts and the replays as the spends before this one left them. */
export interface LedgerView {
  /** The record of the fence still has the revision that the fence names. */
  holds(fence: Fence): boolean;
  account(id: number): AccountState | undefined;
  put(id: number, state: AccountState): void;
  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined;
  liveIdempotencyKeys(scope: string): number;
  remember(key: IdempotencyKey, answer: RememberedAnswer): void;
}

/**
 * The reference of the ledger: one spend against the state that the spends before it left. A batch means its spends
 * done by this function one by one in arrival order; every adapter is held to it by the conformance suite.
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

/** A leg with its account: as it is stored, and as it stands now (refilled, or in the running window). */
interface OpenLeg {
  readonly leg: Leg;
  readonly stored: AccountState;
  readonly now: AccountState;
}

function isStale({ rule, revision }: Leg, stored: AccountState, nowMs: number): boolean {
  if (stored.kind !== rule.kind || stored.revision !== revision) return true;
  return rule.kind === 'credits' && isPlanStale(rule.refill, nowMs);
}

/** What was answered under this idempotency key, a conflict, or null when nothing was. */
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
    // An account that stands in two legs of one spend is taken from twice: the second sees what the first left.
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
    // A peek writes nothing: what it saw is arithmetic, and comes out the same at the next touch.
    if (leg.amount > 0 && state !== stored) view.put(leg.account, state);
    legs.push(legResult(state, leg));
  }
  if (spend.idempotency !== null && spend.legs.some((leg) => leg.amount > 0)) {
    view.remember(spend.idempotency, { requestDigest: spend.idempotency.requestDigest, legs, nowMs });
  }
  return { status: 'taken', legs, nowMs, replayed: false };
}

/** The last leg before `end` that takes from the account; -1 = none. */
function lastOf(open: readonly OpenLeg[], account: number, end: number): number {
  return open.findLastIndex(({ leg }, i) => i < end && leg.account === account);
}

function legResult(state: AccountState, leg: Leg): LegResult {
  const resetAtMs = leg.rule.kind === 'window' ? state.mark : (leg.rule.refill?.nextMs ?? 0);
  return { left: left(state, leg.rule), resetAtMs };
}
