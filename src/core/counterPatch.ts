import { MIN_NOTIFIED_WINDOW_MS } from './bounds.ts';
import type { RefillInterval } from './calendar.ts';
import { AppError, repeatable } from './errors.ts';
import { DEFAULT_LIMIT_NAME, type LimitRecord, type RefillRule } from './records.ts';

export interface RefillInput {
  readonly interval: RefillInterval;
  readonly amount: number;
  readonly refillDay: number | null;
  readonly refillWeekday: number | null;
  readonly timezone: string | null;
  readonly mode: 'restore' | 'add';
  readonly max: number | null;
}

export interface LimitInput {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  /** null = not given. A new limit is then local, and an existing one keeps its mode. */
  readonly async: boolean | null;
  /** Absent: a new limit applies to every verification, and an existing one stays as it is. */
  readonly autoApply?: boolean;
  /** Absent: a new limit sends no event, and an existing one stays as it is. */
  readonly notify?: boolean;
}

/** Credits and limits of a key or an identity. */
export interface CounterPatch {
  readonly remaining?: number | null;
  /** true: count without a balance. false: stop that. */
  readonly metered?: boolean;
  readonly refill?: RefillInput | null;
  /** The limit named `default`. */
  readonly defaultLimit?: LimitInput | null;
  /** All the others. */
  readonly otherLimits?: readonly LimitInput[] | null;
}

export function toRefillRule(input: RefillInput, defaultTimezone: string, nowMs: number): RefillRule {
  return { ...input, timezone: input.timezone ?? defaultTimezone, sinceMs: nowMs };
}

export function meteredHasNoBalance(): AppError {
  return new AppError('BAD_REQUEST', 'metered counts credits without a balance: leave out remaining and refill.');
}

export function refillNeedsCredits(): AppError {
  return new AppError('BAD_REQUEST', 'A refill needs credits: send remaining too.');
}

export function isSameRule(a: RefillRule, b: RefillRule): boolean {
  const isSameDay = a.refillDay === b.refillDay && a.refillWeekday === b.refillWeekday;
  const isSameSchedule = a.interval === b.interval && isSameDay && a.timezone === b.timezone;
  return isSameSchedule && a.amount === b.amount && a.mode === b.mode && a.max === b.max;
}

/** The limits after a patch. The accounts of strict limits are assigned afterwards. */
export function wantedLimits(before: readonly LimitRecord[], patch: CounterPatch): LimitRecord[] {
  const kept = before.filter(({ name }) =>
    name === DEFAULT_LIMIT_NAME ? patch.defaultLimit === undefined : patch.otherLimits === undefined,
  );
  const given = [...(patch.defaultLimit ? [patch.defaultLimit] : []), ...(patch.otherLimits ?? [])];
  const wanted = given.map(({ name, limit, durationMs, ...input }): LimitRecord => {
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

function requireLongWindow(name: string, durationMs: number): void {
  if (durationMs >= MIN_NOTIFIED_WINDOW_MS) return;
  const what = `The limit ${repeatable(name)} has notify, which needs a duration of at least ${MIN_NOTIFIED_WINDOW_MS}`;
  throw new AppError('BAD_REQUEST', `${what} ms, got ${durationMs}.`);
}

function rank({ name }: LimitRecord): number {
  return name === DEFAULT_LIMIT_NAME ? 0 : 1;
}
