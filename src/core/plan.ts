import type { RefillSchedule, RefillStep } from './account.ts';
import { MAX_COUNT } from './bounds.ts';
import { type Epoch, epochAt, type Schedule } from './calendar.ts';
import type {
  CreditsRecord,
  HeldCredits,
  OnPlan,
  PlanTerms,
  RefillRule,
  RefillRules,
  RefillVersion,
} from './records.ts';

/** What refills the credits of a holder: its own rule, else the rules of its plan; null = nothing. */
export function heldRefill(own: CreditsRecord | null, plan: PlanTerms | null): RefillRules | null {
  if (own === null || own.refill !== null || own.metered) return own?.refill ?? null;
  return plan === null || plan.refills.every(({ rule }) => rule === null) ? null : plan.refills;
}

export function heldCredits(own: CreditsRecord | null, plan: PlanTerms | null): HeldCredits | null {
  if (own === null) return null;
  return { account: own.account, refill: heldRefill(own, plan), ...(own.metered ? { metered: true } : {}) };
}

interface Named {
  readonly name: string;
}

/** The limits of a plan that its holder does not replace by one of the same name. */
export function notReplaced<L extends Named>(limits: readonly L[], own: readonly Named[]): readonly L[] {
  return own.length === 0 ? limits : limits.filter(({ name }) => !own.some((limit) => limit.name === name));
}

/** Its move to another plan was put off until an instant that has come. */
export function isMoveDue({ planMove }: Pick<OnPlan, 'planMove'>, nowMs: number): boolean {
  return planMove !== null && nowMs >= planMove.atMs;
}

export function heldMaxKeys(own: { readonly maxKeys: number | null }, plan: PlanTerms | null): number | null {
  return own.maxKeys ?? plan?.maxKeys ?? null;
}

/** The calendar, or something that remembers its answers. */
type EpochAt = (schedule: Schedule, atMs: number) => Epoch;

export type RunningEpoch = Pick<RefillSchedule, 'startMs' | 'nextMs'>;

/**
 * The epoch that runs under these rules. It begins at the latest boundary, or where the present rule began if that is later, and ends at the
 * next one, or where another rule begins.
 */
export function runningEpoch(rules: RefillRules, nowMs: number, at: EpochAt = epochAt): RunningEpoch {
  const { rule, fromMs } = versionAt(rules, nowMs);
  const endMs = versionsOf(rules).find((version) => version.fromMs > nowMs)?.fromMs ?? MAX_COUNT;
  if (rule === null) return { startMs: fromMs, nextMs: endMs };
  const { startMs, nextMs } = at(rule, nowMs);
  return { startMs: Math.max(startMs, fromMs), nextMs: Math.min(nextMs, endMs) };
}

/** The plan that applies all boundaries between a mark and now, each under the rule that was in force until its instant. */
export function planRefill(rules: RefillRules, markMs: number, nowMs: number, at: EpochAt = epochAt): RefillSchedule {
  const { startMs, nextMs } = runningEpoch(rules, nowMs, at);
  const steps = markMs >= startMs ? [] : stepsBetween(rules, markMs, nowMs, at);
  return { startMs, nextMs, fromMs: markMs, steps };
}

/** The plan that applies all boundaries up to an instant, whenever it is carried out. */
export function planUntil(rules: RefillRules | null, markMs: number, untilMs: number): RefillSchedule {
  const steps = rules === null || markMs >= untilMs ? [] : stepsBetween(rules, markMs, untilMs, epochAt);
  return { startMs: untilMs, nextMs: MAX_COUNT, fromMs: markMs, steps };
}

/** One boundary of the rule in force until an instant. */
export function stepAt(rules: RefillRules, atMs: number): RefillStep[] {
  const { rule } = versionAt(rules, atMs - 1);
  return rule === null ? [] : [{ mode: rule.mode, amount: rule.amount, max: rule.max, times: 1 }];
}

/** Boundaries after the one instant, up to the other. */
function stepsBetween(rules: RefillRules, afterMs: number, untilMs: number, at: EpochAt): RefillStep[] {
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
export function versionAt(rules: RefillRules, nowMs: number): RefillVersion {
  const versions = versionsOf(rules);
  return versions.findLast(({ fromMs }) => fromMs <= nowMs) ?? { fromMs: 0, rule: versions[0]?.rule ?? null };
}

function versionsOf(rules: RefillRules): readonly RefillVersion[] {
  return isRule(rules) ? [{ fromMs: 0, rule: rules }] : rules;
}

function isRule(rules: RefillRules): rules is RefillRule {
  return 'interval' in rules;
}
