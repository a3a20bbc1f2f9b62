import { isOfAnotherMark, isPlanStale } from './account.js';
import { AccountBook, METERED_ZERO } from './accountBook.js';
import { MAX_COUNT } from './bounds.js';
/** The mark that a stale change was not planned from; undefined: that is not the reason. */
export function markBeside(change, state) {
  if (state === undefined || !isOfAnotherMark(change.refill, state)) return undefined;
  return { account: change.account, markMs: state.mark };
}
/** The account after the change; 'stale' when the change does not fit the present state. */
export function changed(state, pockets, change, nowMs) {
  if ((state === undefined) !== (change.open !== undefined)) return 'stale';
  if (state !== undefined && state.revision !== change.expect) return 'stale';
  if (change.close && (state?.mark ?? 0) > (change.endedByMs ?? Infinity)) return 'stale';
  if (!change.close && isPlanStale(change.refill, nowMs)) return 'stale';
  if (!change.close && state !== undefined && isOfAnotherMark(change.refill, state)) return 'stale';
  const kind = state?.kind ?? change.open ?? 'credits';
  return kind === 'window' ? changedWindow(state, change) : changedCredits(state, pockets, change, nowMs);
}
function changedCredits(state, pockets, change, nowMs) {
  const first = change.metered ? METERED_ZERO : 0;
  const book = state === undefined ? AccountBook.open(nowMs, change.mark ?? 0, first) : new AccountBook(state, pockets);
  // An account that is opened has no boundaries behind it.
  book.upTo(change.close || state === undefined ? null : change.refill, nowMs);
  const valueBefore = state === undefined || change.metered ? null : book.value;
  if (book.value > (change.atMost ?? Infinity)) return 'stale';
  if (change.close) return { state: null, valueBefore, pockets: null, lines: book.close(change.metered === true) };
  if (change.set !== undefined) book.set(change.set);
  if (change.add !== undefined) book.adjust(change.add);
  if (change.grant !== undefined) book.grant(change.grant.id, change.grant.amount, change.grant.expiresAtMs);
  if (change.heldUntilMs !== undefined) book.heldUntil(change.heldUntilMs, nowMs);
  const booked = book.reschedule(change.mark, change.dueAtMs, nowMs).booked(change.revision);
  const after = change.sleeps ? { ...booked.state, dueAtMs: 0 } : booked.state;
  return { ...booked, state: after, valueBefore };
}
function changedWindow(state, change) {
  const valueBefore = state?.value ?? null;
  if (change.close) return { state: null, valueBefore, pockets: null, lines: [] };
  const value = Math.min(MAX_COUNT, Math.max(0, (change.set ?? state?.value ?? 0) + (change.add ?? 0)));
  const { mark = state?.mark ?? 0, dueAtMs = state?.dueAtMs ?? 0, revision } = change;
  const after = { kind: 'window', value, mark, dueAtMs, revision, base: 0, segmentMs: 0 };
  return { state: after, valueBefore, pockets: null, lines: [] };
}
