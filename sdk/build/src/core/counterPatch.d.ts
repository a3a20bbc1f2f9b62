import type { RefillInterval } from './calendar.ts';
import { AppError } from './errors.ts';
import { type LimitRecord, type RefillRule } from './records.ts';
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
  /** Absent: a new limit is not told of, and an existing one stays as it is. */
  readonly notify?: boolean;
}
/** Credits and limits of a key or an identity. */
export interface CounterPatch {
  readonly remaining?: number | null;
  /** Counts without a balance; false = no longer. */
  readonly metered?: boolean;
  readonly refill?: RefillInput | null;
  /** The limit named `default`. */
  readonly defaultLimit?: LimitInput | null;
  /** All the others. */
  readonly otherLimits?: readonly LimitInput[] | null;
}
export declare function toRefillRule(input: RefillInput, defaultTimezone: string, nowMs: number): RefillRule;
export declare function refillNeedsCredits(): AppError;
/** Both rules have the same boundaries. Then the running epoch continues, whatever else changes. */
export declare function isSameSchedule(a: RefillRule | null, b: RefillRule | null): boolean;
export declare function isSameRule(a: RefillRule, b: RefillRule): boolean;
/** The limits after a patch. The accounts of strict limits are assigned afterwards. */
export declare function wantedLimits(before: readonly LimitRecord[], patch: CounterPatch): LimitRecord[];
