import { AppError } from '../../../core/errors.ts';
import { type Span, SPAN_MS, startOfSpan } from '../../../storage/port/analytics.ts';
import type { Retention } from '../../analytics/writeCounts.ts';

export const TIME_GROUPS = ['minute', 'hour', 'day', 'month'] as const;
export type TimeGroup = (typeof TIME_GROUPS)[number];

/** The largest number of rows in one answer. */
export const MAX_ROWS = 10_000;
/** The last instant that can be asked for: the end of the year 9999. */
export const MAX_INSTANT_MS = Date.UTC(10_000, 0, 1) - 1;

const DEFAULT_MINUTES = 60;
const DEFAULT_HOURS = 24;
const DEFAULT_DAYS = 30;
/** The largest number of minutes or hours that are read; fewer when each has rows of many keys. */
const MAX_FINE_SPANS = 1_500;
const MAX_FINE_SPANS_OF_MANY = 48;

/** The period of a question: from `startMs` to before `endMs`. */
export interface Period {
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** The whole spans that are read. */
export interface Range {
  readonly span: Span;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The time now, and how long counts are kept. */
export interface Kept {
  readonly nowMs: number;
  readonly retention: Retention;
}

/**
 * Widens the period to whole minutes, hours, days or months (UTC), as far back as they are kept. The default start is 60 minutes, 24 hours
 * or 30 days ago.
 */
export function rangeOf(group: TimeGroup, period: Period, { nowMs, retention }: Kept): Range {
  const span = group === 'month' ? 'day' : group;
  const endMs = endOf(period, nowMs);
  const untilMs = nextOf(group, endMs - 1);
  if (period.startMs === null) return { span, fromMs: defaultStart(group, untilMs, endMs), untilMs };
  const firstKeptMs = Math.ceil((nowMs - retention[span]) / SPAN_MS[span]) * SPAN_MS[span];
  return { span, fromMs: startOf(group, Math.max(period.startMs, firstKeptMs)), untilMs };
}

/** For a question without a time group: the finest span that is kept long enough and is not too many rows. */
export function rangeOfAll(period: Period, kept: Kept, isOfMany: boolean): Range {
  if (period.startMs === null) return rangeOf('day', period, kept);
  const { nowMs, retention } = kept;
  const { startMs } = period;
  const endMs = endOf(period, nowMs);
  const maxSpans = isOfMany ? MAX_FINE_SPANS_OF_MANY : MAX_FINE_SPANS;
  const span =
    (['minute', 'hour'] as const).find(
      (each) => nowMs - startMs <= retention[each] && endMs - startMs <= maxSpans * SPAN_MS[each],
    ) ?? 'day';
  const fromMs = startOfSpan(span, startMs);
  return { span, fromMs, untilMs: Math.ceil(endMs / SPAN_MS[span]) * SPAN_MS[span] };
}

/** The start of each minute, hour, day or month of the range. */
export function timesOf(group: TimeGroup, { fromMs, untilMs }: Range): number[] {
  const times: number[] = [];
  for (let timeMs = fromMs; timeMs < untilMs; timeMs = nextOf(group, timeMs)) {
    if (times.length === MAX_ROWS) {
      throw new AppError(
        'BAD_REQUEST',
        `There are more than ${MAX_ROWS} ${group}s between start and end. Choose a shorter period.`,
      );
    }
    times.push(timeMs);
  }
  return times;
}

/** The start of the minute, hour, day or month that an instant is in. */
export function startOf(group: TimeGroup, timeMs: number): number {
  if (group !== 'month') return startOfSpan(group, timeMs);
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function nextOf(group: TimeGroup, timeMs: number): number {
  if (group !== 'month') return startOf(group, timeMs) + SPAN_MS[group];
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Without an end: up to and including this millisecond. */
function endOf({ startMs, endMs }: Period, nowMs: number): number {
  return endMs ?? Math.max(nowMs, startMs ?? 0) + 1;
}

function defaultStart(group: TimeGroup, untilMs: number, endMs: number): number {
  if (group === 'minute') return Math.max(0, untilMs - DEFAULT_MINUTES * SPAN_MS.minute);
  if (group === 'hour') return Math.max(0, untilMs - DEFAULT_HOURS * SPAN_MS.hour);
  if (group === 'day') return Math.max(0, untilMs - DEFAULT_DAYS * SPAN_MS.day);
  return startOf('month', Math.max(0, endMs - DEFAULT_DAYS * SPAN_MS.day));
}
