import { MAX_COUNT } from './bounds.js';
import { fits, windowEnd } from './window.js';
/** The ledger's clock is outside the epoch that the plan was made for. The caller makes a new plan and asks again. */
export function isPlanStale(plan, nowMs) {
  return plan !== null && (nowMs < plan.startMs || nowMs >= plan.nextMs);
}
/** The plan begins at another mark than the account has. The caller makes a new plan from this mark. */
export function isOfAnotherMark(plan, { mark }) {
  return plan !== null && mark < plan.startMs && mark !== plan.fromMs;
}
/** What the boundaries of a plan add to a balance. A refill never lowers a balance. */
export function refillOf(balance, steps) {
  let value = balance;
  for (const step of steps) value = Math.max(value, refillTarget(value, step));
  return value - balance;
}
function refillTarget(balance, { mode, amount, max, times }) {
  if (times === 0) return balance;
  if (mode === 'restore') return amount;
  const ceiling = max ?? MAX_COUNT;
  // A division, because amount * times can exceed 2^53 and would be rounded.
  return times > (ceiling - balance) / amount ? ceiling : balance + amount * times;
}
/** The window that runs at `nowMs`: the stored one until it ends, then an empty one. */
export function rolled(state, durationMs, nowMs) {
  if (nowMs < state.mark) return state;
  return { ...state, value: 0, mark: windowEnd(nowMs, durationMs) };
}
/** The account after `amount` was taken, or null when there is too little. The guard is positive: NaN takes nothing. */
export function taken(state, rule, amount) {
  if (rule.kind === 'credits') {
    if (!(state.value >= amount)) return null;
    return amount === 0 ? state : { ...state, value: state.value - amount };
  }
  if (!fits(state.value, amount, rule.limit)) return null;
  return amount === 0 ? state : { ...state, value: state.value + amount };
}
/** How much of the account can still be used. */
export function left(state, rule) {
  return rule.kind === 'credits' ? state.value : Math.max(0, rule.limit - state.value);
}
