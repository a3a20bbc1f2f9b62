/**
 * The calendar of refills. A boundary is the first instant of a local day, or an instant at which the local clock shows a full hour. An
 * epoch is the stretch from one boundary to the next. Time zones come from `Intl`, because Temporal is missing on Node 20 and in some
 * browsers.
 */
export declare const REFILL_INTERVALS: readonly ['hourly', 'daily', 'weekly', 'monthly'];
export type RefillInterval = (typeof REFILL_INTERVALS)[number];
export interface Schedule {
  readonly interval: RefillInterval;
  /** Monthly only: the day of the month, 1..31, at most the month's last day. null = the first. */
  readonly refillDay: number | null;
  /** Weekly only: the day of the week, 1 (Monday) to 7 (Sunday). null = Monday. */
  readonly refillWeekday: number | null;
  /** IANA zone name. */
  readonly timezone: string;
}
/**
 * The stretch between two boundaries: startMs <= t < nextMs. `number` counts local hours, days, weeks or months and only grows with
 * time. It grows by two where a zone skips a whole day, and where its clock is set back by a part of an hour.
 */
export interface Epoch {
  readonly number: number;
  readonly startMs: number;
  readonly nextMs: number;
}
export declare function epochAt(schedule: Schedule, nowMs: number): Epoch;
/** Accepts exact IANA names; no offsets, no other spelling. Node 20 does not tell the spelling of old names: there, case is free. */
export declare function isTimeZone(name: string): boolean;
/** Remembers the running epoch of each schedule. */
export declare class Calendar {
  #private;
  epochAt(schedule: Schedule, nowMs: number): Epoch;
}
