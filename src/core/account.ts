import { MAX_COUNT } from './bounds.ts';
import { fits, windowEnd } from './window.ts';

/**
 * An account is one exact counter of the ledger. Two kinds share one shape, so that a batch of them is one narrow table:
 *
 *   credits:  value = balance,  mark = number of the refill epoch last applied (0 without a refill)
 *   window:   value = count,    mark = the instant at which the window ends (unix ms)
 *
 * Both marks only move up. States are immutable: a change makes a new one, which is how a failed batch is undone.
 */
export interface AccountState {
  readonly kind: 'credits' | 'window';
  readonly value: number;
  readonly mark: number;
  /** When the next refill is due (unix ms): what the background sweep looks for. 0 = never. */
  readonly dueAtMs: number;
  /** Revision of the record this account belongs to; 0 = belongs to none (an ad-hoc window). */
  readonly revision: number;
}

/**
 * A refill as the ledger sees it: no calendar, only the running epoch's number and the instants between which it runs,
 * which the ledger holds against its own clock.
 */
export interface RefillPlan {
  readonly epoch: number;
  readonly startMs: number;
  readonly nextMs: number;
  readonly amount: number;
  readonly mode: 'restore' | 'add';
  readonly max: number | null;
}

/** The plan was made for another epoch than the one the ledger's clock is in: ask again with a new one. */
export function isPlanStale(plan: RefillPlan | null, nowMs: number): boolean {
  return plan !== null && (nowMs < plan.startMs || nowMs >= plan.nextMs);
}

/** The state after all boundaries up to the plan's epoch. Never lowers a balance, never applies an epoch twice. */
export function refilled(state: AccountState, plan: RefillPlan | null): AccountState {
  if (plan === null || (plan.epoch <= state.mark && plan.nextMs <= state.dueAtMs)) return state;
  const passed = Math.max(0, plan.epoch - state.mark);
  const value = passed === 0 ? state.value : Math.max(state.value, refillTarget(state.value, passed, plan));
  return { ...state, value, mark: Math.max(state.mark, plan.epoch), dueAtMs: Math.max(state.dueAtMs, plan.nextMs) };
}

function refillTarget(balance: number, passed: number, plan: RefillPlan): number {
  if (plan.mode === 'restore') return plan.amount;
  const ceiling = plan.max ?? MAX_COUNT;
  // Compared by division: amount * passed can lie beyond 2^53 and would be rounded.
  return passed > (ceiling - balance) / plan.amount ? ceiling : balance + plan.amount * passed;
}

/** The window that runs at `nowMs`: the stored one until it ends, then an empty one. */
export function rolled(state: AccountState, durationMs: number, nowMs: number): AccountState {
  if (nowMs < state.mark) return state;
  return { ...state, value: 0, mark: windowEnd(nowMs, durationMs) };
}

export type LegRule =
  | { readonly kind: 'credits'; readonly refill: RefillPlan | null }
  | { readonly kind: 'window'; readonly limit: number; readonly durationMs: number };

/** The account as it stands now, before anything is taken. */
export function current(state: AccountState, rule: LegRule, nowMs: number): AccountState {
  return rule.kind === 'credits' ? refilled(state, rule.refill) : rolled(state, rule.durationMs, nowMs);
}

/** The account after `amount` was taken, or null when it does not suffice. The guard is positive: take only if enough. */
export function taken(state: AccountState, rule: LegRule, amount: number): AccountState | null {
  if (rule.kind === 'credits') {
    if (!(state.value >= amount)) return null;
    return amount === 0 ? state : { ...state, value: state.value - amount };
  }
  if (!fits(state.value, amount, rule.limit)) return null;
  return amount === 0 ? state : { ...state, value: state.value + amount };
}

/** What can still be used of the account. */
export function left(state: AccountState, rule: LegRule): number {
  return rule.kind === 'credits' ? state.value : Math.max(0, rule.limit - state.value);
}

/** A management change of one account, done in the same queue and the same commit as its record. */
export interface AccountChange {
  readonly account: number;
  /** The revision that the change was made from: another one makes it stale. Not looked at when it opens the account. */
  readonly expect: number;
  /** Makes the account; it must not exist yet. */
  readonly open?: 'credits' | 'window';
  /** Removes it. */
  readonly close?: true;
  /** Closes a window only if it has ended by then: one that runs again in the meantime must not lose its count. */
  readonly endedByMs?: number;
  /** The rule in force until now: its passed boundaries are applied first. */
  readonly refill: RefillPlan | null;
  readonly set?: number;
  /** Added, or taken away when negative; the result stays within 0 and 2^53-1. */
  readonly add?: number;
  /** End of a new window, or the running epoch of a new rule: what has passed counts as applied, nothing refills at once. */
  readonly mark?: number;
  /** When the sweep shall look again; 0 = never (no rule, or the key is deleted). */
  readonly dueAtMs?: number;
  readonly revision: number;
}

const EMPTY: AccountState = { kind: 'credits', value: 0, mark: 0, dueAtMs: 0, revision: 0 };

/** The changed state, null when it is closed, or 'stale' when the change was made for another state of the world. */
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
