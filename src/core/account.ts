import { MAX_COUNT } from './bounds.ts';
import { fits, windowEnd } from './window.ts';

/**
 * An account is one exact counter of the ledger. Both kinds have the same fields, so one narrow table holds a batch of them:
 *
 *   credits:  value = balance,  mark = the instant up to which all boundaries of refills are applied (0 without a refill)
 *   window:   value = count,    mark = the instant at which the window ends (unix ms)
 *
 * A mark only moves up, except where a change gives the account another rule. A state is immutable: a change makes a new one, so a failed batch is undone by keeping the old ones.
 */
export interface AccountState {
  readonly kind: 'credits' | 'window';
  readonly value: number;
  readonly mark: number;
  /** When the next refill is due (unix ms). The background sweep looks for it. 0 = never. */
  readonly dueAtMs: number;
  /** Revision of the record that the account belongs to. 0 = it belongs to none (an ad-hoc window). */
  readonly revision: number;
}

/** Boundaries of one rule: what each does to a balance, and how many have passed. */
export interface RefillStep {
  readonly mode: 'restore' | 'add';
  readonly amount: number;
  /** Ceiling of `add`; null = 2^53-1. */
  readonly max: number | null;
  readonly times: number;
}

/**
 * A refill as the ledger sees it. It has no calendar: only the instants at which the running epoch begins and ends, which the ledger
 * compares with its own clock, and what happened on the way there from a mark.
 */
export interface RefillPlan {
  readonly startMs: number;
  readonly nextMs: number;
  /** The mark that the steps begin at. An account with a mark from `startMs` on needs no step. */
  readonly fromMs: number;
  readonly steps: readonly RefillStep[];
}

/** Where the boundaries of an account are applied up to. */
export interface AccountMark {
  readonly account: number;
  readonly markMs: number;
}

/** The ledger's clock is outside the epoch that the plan was made for. The caller makes a new plan and asks again. */
export function isPlanStale(plan: RefillPlan | null, nowMs: number): boolean {
  return plan !== null && (nowMs < plan.startMs || nowMs >= plan.nextMs);
}

/** The plan begins at another mark than the account has. The caller makes a new plan from this mark. */
export function isOfAnotherMark(plan: RefillPlan | null, { mark }: AccountState): boolean {
  return plan !== null && mark < plan.startMs && mark !== plan.fromMs;
}

/** The state after all boundaries up to the plan's epoch. A refill never lowers a balance, and no boundary is applied twice. */
export function refilled(state: AccountState, plan: RefillPlan | null): AccountState {
  if (plan === null) return state;
  const { startMs, nextMs, steps } = plan;
  if (state.mark >= startMs) return nextMs <= state.dueAtMs ? state : { ...state, dueAtMs: nextMs };
  if (isOfAnotherMark(plan, state)) throw new Error('the refill was planned from another mark');
  let { value } = state;
  for (const step of steps) value = Math.max(value, refillTarget(value, step));
  return { ...state, value, mark: startMs, dueAtMs: nextMs };
}

function refillTarget(balance: number, { mode, amount, max, times }: RefillStep): number {
  if (times === 0) return balance;
  if (mode === 'restore') return amount;
  const ceiling = max ?? MAX_COUNT;
  // A division, because amount * times can exceed 2^53 and would be rounded.
  return times > (ceiling - balance) / amount ? ceiling : balance + amount * times;
}

/** The window that runs at `nowMs`: the stored one until it ends, then an empty one. */
export function rolled(state: AccountState, durationMs: number, nowMs: number): AccountState {
  if (nowMs < state.mark) return state;
  return { ...state, value: 0, mark: windowEnd(nowMs, durationMs) };
}

export type ChargeRule =
  | { readonly kind: 'credits'; readonly refill: RefillPlan | null }
  | { readonly kind: 'window'; readonly limit: number; readonly durationMs: number };

/** The account at `nowMs`, before anything is taken: refilled, or in the running window. */
export function current(state: AccountState, rule: ChargeRule, nowMs: number): AccountState {
  return rule.kind === 'credits' ? refilled(state, rule.refill) : rolled(state, rule.durationMs, nowMs);
}

/** The account after `amount` was taken, or null when there is too little. The guard is positive: NaN takes nothing. */
export function taken(state: AccountState, rule: ChargeRule, amount: number): AccountState | null {
  if (rule.kind === 'credits') {
    if (!(state.value >= amount)) return null;
    return amount === 0 ? state : { ...state, value: state.value - amount };
  }
  if (!fits(state.value, amount, rule.limit)) return null;
  return amount === 0 ? state : { ...state, value: state.value + amount };
}

/** How much of the account can still be used. */
export function left(state: AccountState, rule: ChargeRule): number {
  return rule.kind === 'credits' ? state.value : Math.max(0, rule.limit - state.value);
}

/** A management change of one account. It goes through the same queue and the same commit as the change of its record. */
export interface AccountChange {
  readonly account: number;
  /** The revision that the change was made from. Any other one makes the change stale. Ignored when the change opens the account. */
  readonly expect: number;
  /** Opens the account, which must not exist yet. */
  readonly open?: 'credits' | 'window';
  /** Removes the account. */
  readonly close?: true;
  /** With `close`: closes a window only if it ends by this instant, so that a window that runs again keeps its count. */
  readonly endedByMs?: number;
  /** The refill rule in force until now. Its passed boundaries are applied before the change. */
  readonly refill: RefillPlan | null;
  readonly set?: number;
  /** Added to the value; a negative number is subtracted. The result stays within 0 and 2^53-1. */
  readonly add?: number;
  /** The end of a new window, or the beginning of the running epoch of a new refill rule. That rule refills at its next boundary. */
  readonly mark?: number;
  /** When the sweep next looks at the account. 0 = never (no refill rule, or the key is deleted). */
  readonly dueAtMs?: number;
  readonly revision: number;
}

/** The mark that a stale change was not planned from; undefined: that is not the reason. */
export function markBeside(change: AccountChange, state: AccountState | undefined): AccountMark | undefined {
  if (state === undefined || !isOfAnotherMark(change.refill, state)) return undefined;
  return { account: change.account, markMs: state.mark };
}

const EMPTY: AccountState = { kind: 'credits', value: 0, mark: 0, dueAtMs: 0, revision: 0 };

/** The changed state; null when the account is closed; 'stale' when the change does not fit the present state. */
export function changed(
  state: AccountState | undefined,
  change: AccountChange,
  nowMs: number,
): AccountState | null | 'stale' {
  if ((state === undefined) !== (change.open !== undefined)) return 'stale';
  if (state !== undefined && state.revision !== change.expect) return 'stale';
  if (change.close) return (state?.mark ?? 0) > (change.endedByMs ?? Infinity) ? 'stale' : null;
  if (isPlanStale(change.refill, nowMs) || (state !== undefined && isOfAnotherMark(change.refill, state)))
    return 'stale';
  const before = state ?? { ...EMPTY, kind: change.open ?? 'credits' };
  const refreshed = before.kind === 'credits' ? refilled(before, change.refill) : before;
  const base = change.set ?? refreshed.value;
  const value = Math.min(MAX_COUNT, Math.max(0, base + (change.add ?? 0)));
  return {
    kind: before.kind,
    value,
    mark: change.mark ?? refreshed.mark,
    dueAtMs: change.dueAtMs ?? refreshed.dueAtMs,
    revision: change.revision,
  };
}
