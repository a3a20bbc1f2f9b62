import { MAX_COUNT } from './bounds.js';
import { epochAt } from './calendar.js';
/** The epoch that runs under these rules. It begins at the latest boundary, or where the present rule began if that is later. */
export function runningEpoch(rules, nowMs, at = epochAt) {
  const { rule, fromMs } = versionAt(rules, nowMs);
  if (rule === null) return { startMs: fromMs, nextMs: MAX_COUNT };
  const { startMs, nextMs } = at(rule, nowMs);
  return { startMs: Math.max(startMs, fromMs), nextMs };
}
/** The plan that applies all boundaries between a mark and now, each under the rule that was in force until its instant. */
export function planRefill(rules, markMs, nowMs, at = epochAt) {
  const { startMs, nextMs } = runningEpoch(rules, nowMs, at);
  const steps = markMs >= startMs ? [] : stepsBetween(rules, markMs, nowMs, at);
  return { startMs, nextMs, fromMs: markMs, steps };
}
/** The plan that applies all boundaries up to an instant, whenever it is carried out. */
export function planUntil(rules, markMs, untilMs) {
  const steps = rules === null || markMs >= untilMs ? [] : stepsBetween(rules, markMs, untilMs, epochAt);
  return { startMs: untilMs, nextMs: MAX_COUNT, fromMs: markMs, steps };
}
/** One boundary of the rule in force at an instant. */
export function stepAt(rules, atMs) {
  const { rule } = versionAt(rules, atMs);
  return rule === null ? [] : [{ mode: rule.mode, amount: rule.amount, max: rule.max, times: 1 }];
}
/** Boundaries after the one instant, up to the other. */
function stepsBetween(rules, afterMs, untilMs, at) {
  const versions = versionsOf(rules);
  return versions.flatMap(({ fromMs, rule }, i) => {
    // A boundary at the very instant of a change is still one of the old rule: nothing is refilled because of the change.
    const endMs = versions[i + 1]?.fromMs ?? Infinity;
    const [first, last] = [Math.max(afterMs, fromMs), Math.min(untilMs, endMs)];
    if (rule === null || last <= first) return [];
    const times = at(rule, last).number - epochAt(rule, first).number;
    const { mode, amount, max } = rule;
    return times === 0 ? [] : [{ mode, amount, max, times }];
  });
}
/** The rule in force at an instant. A clock that is set back before the first rule finds that one, as if it had always been there. */
export function versionAt(rules, nowMs) {
  const versions = versionsOf(rules);
  return versions.findLast(({ fromMs }) => fromMs <= nowMs) ?? { fromMs: 0, rule: versions[0]?.rule ?? null };
}
function versionsOf(rules) {
  return isRule(rules) ? [{ fromMs: 0, rule: rules }] : rules;
}
function isRule(rules) {
  return 'interval' in rules;
}
