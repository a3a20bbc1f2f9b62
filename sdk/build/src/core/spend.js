import { isOfAnotherMark, isPlanStale, left, rolled, taken } from './account.js';
import { AccountBook } from './accountBook.js';
import { DAY_MS } from './statement.js';
/**
 * The reference for every ledger: decides one spend on the state that the spends before it left. A batch has the same result as
 * this function called for its spends one by one, in arrival order. The conformance suite compares every adapter with it.
 */
export function decideSpend(view, spend, nowMs, maxLiveKeys) {
  const { lastChange } = view;
  const note = lastChange === 0 ? undefined : spend.note;
  if (note === undefined || note.checkedAt !== lastChange) {
    for (const fence of spend.fences) if (!view.holds(fence)) return { status: 'stale', nowMs, fence };
  }
  const open = [];
  for (const charge of spend.charges) {
    const stored = view.account(charge.account);
    if (stored === undefined || isStale(charge, stored, nowMs)) return { status: 'stale', nowMs, fence: null };
    if (charge.rule.kind === 'credits' && isOfAnotherMark(charge.rule.refill, stored)) {
      return { status: 'stale', nowMs, fence: null, mark: { account: charge.account, markMs: stored.mark } };
    }
    const opened = current(view, charge, stored, nowMs);
    if (opened === 'due') return { status: 'stale', nowMs, fence: null, due: charge.account };
    open.push(opened);
  }
  // Every record that decided was compared: by a fence, or by the revision of a charge.
  if (note !== undefined) note.checkedAt = lastChange;
  const answered = spend.idempotency === null ? null : findAnswer(view, spend.idempotency, maxLiveKeys);
  return answered ?? takeCharges(view, spend, open, nowMs);
}
const NO_LINES = [];
/** The account at `nowMs`, before anything is taken. 'due': something has happened to it that its pockets are needed for. */
function current(view, charge, stored, nowMs) {
  const { account, rule } = charge;
  if (rule.kind === 'window') return { charge, stored, now: rolled(stored, rule.durationMs, nowMs), lines: NO_LINES };
  const isDue = stored.dueAtMs !== 0 && nowMs >= stored.dueAtMs;
  const refills = rule.refill !== null && stored.mark < rule.refill.startMs;
  const isUnplanned = rule.refill !== null && stored.dueAtMs === 0;
  if (!isDue && !refills && !isUnplanned && !isOfEarlierDay(stored, nowMs)) {
    return { charge, stored, now: stored, lines: NO_LINES };
  }
  const pockets = view.pockets(account);
  if (pockets !== null && (isDue || refills)) return 'due';
  const { state, lines } = new AccountBook(stored, pockets).upTo(rule.refill, nowMs).booked(stored.revision);
  if (pockets !== null) return { charge, stored, now: { ...state, dueAtMs: stored.dueAtMs }, lines };
  // Nothing that was due is left.
  return { charge, stored, now: isDue && rule.refill === null ? { ...state, dueAtMs: 0 } : state, lines };
}
/** The running line of the statement is one of an earlier day. */
function isOfEarlierDay({ segmentMs }, nowMs) {
  // Not a remainder, which takes many times as long as a division.
  return Math.floor(nowMs / DAY_MS) * DAY_MS > segmentMs;
}
function isStale({ rule, revision }, stored, nowMs) {
  if (stored.kind !== rule.kind || stored.revision !== revision) return true;
  return rule.kind === 'credits' && isPlanStale(rule.refill, nowMs);
}
/** The remembered answer under this idempotency key, a conflict, or null when there is none. */
export function answerUnder(view, key) {
  const stored = view.rememberedAnswer(key);
  if (stored === undefined) return null;
  if (stored.requestDigest !== key.requestDigest) return { status: 'conflict' };
  return { status: 'taken', charges: stored.charges, nowMs: stored.nowMs, replayed: true };
}
function findAnswer(view, key, maxLiveKeys) {
  const answered = answerUnder(view, key);
  if (answered !== null) return answered;
  return view.liveIdempotencyKeys(key.scope) >= maxLiveKeys ? { status: 'crowded' } : null;
}
function takeCharges(view, spend, open, nowMs) {
  const after = [];
  let hasLines = false;
  for (let i = 0; i < open.length; i++) {
    const { charge, now, lines } = open[i];
    hasLines ||= lines !== NO_LINES;
    // An account can be in two charges of one spend. The second charge sees what the first left.
    const state = taken(i === 0 ? now : (after[lastOf(open, charge.account, i)] ?? now), charge.rule, charge.amount);
    if (state === null) {
      return { status: 'refused', by: i, charges: open.map((each) => chargeResult(each.now, each.charge)), nowMs };
    }
    after.push(state);
  }
  const charges = [];
  for (let i = 0; i < open.length; i++) {
    const { charge, stored } = open[i];
    const state = after[i];
    // An amount of 0 writes nothing: the next spend computes the same refill or window again.
    if (charge.amount > 0 && state !== stored) {
      if (hasLines) addLines(view, open, charge.account);
      view.put(charge.account, state);
    }
    charges.push(chargeResult(state, charge));
  }
  if (spend.idempotency !== null && spend.charges.some((charge) => charge.amount > 0)) {
    view.remember(spend.idempotency, { requestDigest: spend.idempotency.requestDigest, charges, nowMs });
  }
  return { status: 'taken', charges, nowMs, replayed: false };
}
/** The first charge of an account decides what the account is now. Its lines are written before the account is. */
function addLines(view, open, account) {
  const first = open.find(({ charge }) => charge.account === account);
  if (view.account(account)?.segmentMs === first.stored.segmentMs) view.addLines(account, first.lines);
}
/** The index of the last charge before `end` that takes from the account; -1 = none. */
function lastOf(open, account, end) {
  return open.findLastIndex(({ charge }, i) => i < end && charge.account === account);
}
function chargeResult(state, charge) {
  const resetAtMs = charge.rule.kind === 'window' ? state.mark : (charge.rule.refill?.nextMs ?? 0);
  return { left: left(state, charge.rule), resetAtMs };
}
