import { MAX_COUNT } from './bounds.ts';
import { fits, windowEnd } from './calendar.ts';

/**
 * An account is one exact counter of the ledger. Both kinds have the same fields, so one narrow table holds a batch of them:
 *
 *   credits:  value = what can be spent,  mark = the instant up to which all boundaries of refills are applied (0 without a refill)
 *   window:   value = count,              mark = the instant at which the window ends (unix ms)
 *
 * A mark only moves up, except where a change gives the account another rule. A state is immutable: a change makes a new one. So a failed
 * batch is undone by keeping the old ones.
 */
export interface AccountState {
  readonly kind: 'credits' | 'window';
  readonly value: number;
  readonly mark: number;
  /** When the next refill is due, or a grant or reservation expires (unix ms). The background sweep looks for it. 0 = never. */
  readonly dueAtMs: number;
  /** Revision of the record that the account belongs to. 0 = it belongs to none (an ad-hoc window). */
  readonly revision: number;
  /** Of credits: the balance at the start of the running line plus later movements except spends; `base - value` was spent. */
  readonly base: number;
  /** Where the running line of the statement begins. */
  readonly segmentMs: number;
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
 * A refill as the ledger sees it, without a calendar. The ledger compares the start and the end of the running epoch with its own clock.
 * The steps are the boundaries from a mark up to that epoch.
 */
export interface RefillSchedule {
  readonly startMs: number;
  readonly nextMs: number;
  /** The mark that the steps begin at. An account with a mark from `startMs` on needs no step. */
  readonly fromMs: number;
  readonly steps: readonly RefillStep[];
}

/** The instant up to which the boundaries of an account are applied. */
export interface AccountMark {
  readonly account: number;
  readonly markMs: number;
}

/** The ledger's clock is outside the epoch that the schedule was made for. The caller makes a new one and asks again. */
export function isOfAnotherEpoch(schedule: RefillSchedule | null, nowMs: number): boolean {
  return schedule !== null && (nowMs < schedule.startMs || nowMs >= schedule.nextMs);
}

/** The schedule begins at another mark than the account has. The caller makes a new one from this mark. */
export function isOfAnotherMark(schedule: RefillSchedule | null, { mark }: AccountState): boolean {
  return schedule !== null && mark < schedule.startMs && mark !== schedule.fromMs;
}

/** What the boundaries of a refill add to a balance. A refill never lowers a balance. */
export function refillOf(balance: number, steps: readonly RefillStep[]): number {
  let value = balance;
  for (const step of steps) value = Math.max(value, refillTarget(value, step));
  return value - balance;
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
  | { readonly kind: 'credits'; readonly refill: RefillSchedule | null }
  | { readonly kind: 'window'; readonly limit: number; readonly durationMs: number };

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
