import { MAX_COUNT } from './bounds.ts';
import { fits, windowEnd } from './window.ts';

/**
 * An account is one exact counter of the ledger. Both kinds have the same fields, so one narrow table holds a batch of them:
 *
 *   credits:  value = balance,  mark = number of the refill epoch last applied (0 without a refill)
 *   window:   value = count,    mark = the instant at which the window ends (unix ms)
 *
 * A mark only moves up. A state is immutable: a change makes a new one, so a failed batch is undone by keeping the old ones.
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

/**
 * A refill as the ledger sees it. It has no calendar: only the number of the running epoch, and the instants at which that epoch
 * begins and ends. The ledger compares them with its own clock.
 */
export interface RefillPlan {
  readonly epoch: number;
  readonly startMs: number;
  readonly nextMs: number;
  readonly amount: number;
  readonly mode: 'restore' | 'add';
  readonly max: number | null;
}

/** The ledger's clock is outside the epoch that the plan was made for. The caller makes a new plan and asks again. */
export function isPlanStale(plan: RefillPlan | null, nowMs: number): boolean {
  return plan !== null && (nowMs < plan.startMs || nowMs >= plan.nextMs);
}

/** The state after all boundaries up to the plan's epoch. A refill never lowers a balance, and no epoch is applied twice. */
export function refilled(state: AccountState, plan: RefillPlan | null): AccountState {
  if (plan === null || (plan.epoch <= state.mark && plan.nextMs <= state.dueAtMs)) return state;
  const passed = Math.max(0, plan.epoch - state.mark);
  const value = passed === 0 ? state.value : Math.max(state.value, refillTarget(state.value, passed, plan));
  return { ...state, value, mark: Math.max(state.mark, plan.epoch), dueAtMs: Math.max(state.dueAtMs, plan.nextMs) };
}

function refillTarget(balance: number, passed: number, plan: RefillPlan): number {
  if (plan.mode === 'restore') return plan.amount;
  const ceiling = plan.max ?? MAX_COUNT;
  // A division, because amount * passed can exceed 2^53 and would be rounded.
  return passed > (ceiling - balance) / plan.amount ? ceiling : balance + plan.amount * passed;
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
  /** The end of a new window, or the running epoch of a new refill rule. A new rule refills at its next boundary, not at once. */
  readonly mark?: number;
  /** When the sweep next looks at the account. 0 = never (no refill rule, or the key is deleted). */
  readonly dueAtMs?: number;
  readonly revision: number;
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
  if (isPlanStale(change.refill, nowMs)) return 'stale';
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
