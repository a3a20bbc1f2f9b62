import { MIN_NOTIFIED_WINDOW_MS } from './bounds.js';
import { AppError, repeatable } from './errors.js';
import { DEFAULT_LIMIT_NAME } from './records.js';
export function toRefillRule(input, defaultTimezone, nowMs) {
  return { ...input, timezone: input.timezone ?? defaultTimezone, sinceMs: nowMs };
}
export function refillNeedsCredits() {
  return new AppError('BAD_REQUEST', 'A refill needs credits: send `remaining` too.');
}
/** Both rules have the same boundaries. Then the running epoch continues, whatever else changes. */
export function isSameSchedule(a, b) {
  if (a === null || b === null) return a === b;
  const isSameDay = a.refillDay === b.refillDay && a.refillWeekday === b.refillWeekday;
  return a.interval === b.interval && isSameDay && a.timezone === b.timezone;
}
export function isSameRule(a, b) {
  return isSameSchedule(a, b) && a.amount === b.amount && a.mode === b.mode && a.max === b.max;
}
/** The limits after a patch. The accounts of strict limits are assigned afterwards. */
export function wantedLimits(before, patch) {
  const kept = before.filter(({ name }) =>
    name === DEFAULT_LIMIT_NAME ? patch.defaultLimit === undefined : patch.otherLimits === undefined,
  );
  const given = [...(patch.defaultLimit ? [patch.defaultLimit] : []), ...(patch.otherLimits ?? [])];
  const wanted = given.map(({ name, limit, durationMs, ...input }) => {
    const known = before.find((other) => other.name === name);
    const async = input.async ?? known?.async ?? true;
    const autoApply = input.autoApply ?? known?.autoApply ?? true;
    const notify = input.notify ?? known?.notify ?? false;
    if (notify) requireLongWindow(name, durationMs);
    const options = { ...(autoApply ? {} : { autoApply }), ...(notify ? { notify } : {}) };
    return { name, limit, durationMs, async, account: null, ...options };
  });
  const limits = [...wanted, ...kept];
  const doubled = limits.find(({ name }, i) => limits.findIndex((other) => other.name === name) !== i);
  if (doubled !== undefined) throw new AppError('BAD_REQUEST', `The limit ${repeatable(doubled.name)} is given twice.`);
  return limits.sort((a, b) => rank(a) - rank(b));
}
function requireLongWindow(name, durationMs) {
  if (durationMs >= MIN_NOTIFIED_WINDOW_MS) return;
  const what = `The limit ${repeatable(name)} has notify, which needs a duration of at least ${MIN_NOTIFIED_WINDOW_MS}`;
  throw new AppError('BAD_REQUEST', `${what} ms, got ${durationMs}.`);
}
function rank({ name }) {
  return name === DEFAULT_LIMIT_NAME ? 0 : 1;
}
