import type { Epoch, Schedule } from '../../src/core/calendar.ts';

/**
 * The oracle is Temporal, which Bun has and the implementation may not use. Days are counted here by walking them one
 * by one or by PlainDate arithmetic, never by dividing milliseconds.
 */

export const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

export const zones = Intl.supportedValuesOf('timeZone');

const anywhere = { refillDay: null, refillWeekday: null };

export const hourly = (timezone: string): Schedule => ({ ...anywhere, interval: 'hourly', timezone });

export const daily = (timezone: string): Schedule => ({ ...anywhere, interval: 'daily', timezone });

export const weekly = (timezone: string, refillWeekday: number | null): Schedule => ({
  ...anywhere,
  interval: 'weekly',
  refillWeekday,
  timezone,
});

export const monthly = (timezone: string, refillDay: number | null): Schedule => ({
  ...anywhere,
  interval: 'monthly',
  refillDay,
  timezone,
});

export const date = (text: string) => Temporal.PlainDate.from(text);

export const ms = (instant: string) => Temporal.Instant.from(instant).epochMilliseconds;

export const dateAt = (timezone: string, atMs: number) =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone).toPlainDate();

export const startOfDayMs = (day: Temporal.PlainDate, timezone: string) =>
  day.toZonedDateTime(timezone).epochMilliseconds;

export const dayNumber = (day: Temporal.PlainDate) => date('1970-01-01').until(day, { largestUnit: 'days' }).days;

export const monthNumber = (day: Temporal.PlainDate) => (day.year - 1970) * 12 + day.month - 1;

/** The refill date of the month that `day` lies in. */
export const refillDate = (day: Temporal.PlainDate, refillDay: number | null) =>
  Temporal.PlainDate.from({ year: day.year, month: day.month, day: refillDay ?? 1 }, { overflow: 'constrain' });

/** Two local days are looked at either side: no clock has ever been set back by more than one. */
export function expectedDaily(timezone: string, atMs: number): Epoch {
  let day = dateAt(timezone, atMs).add({ days: 2 });
  while (startOfDayMs(day, timezone) > atMs) day = day.subtract({ days: 1 });
  return {
    number: dayNumber(day),
    startMs: startOfDayMs(day, timezone),
    nextMs: startOfDayMs(day.add({ days: 1 }), timezone),
  };
}

export function expectedMonthly(timezone: string, refillDay: number | null, atMs: number): Epoch {
  let month = dateAt(timezone, atMs).with({ day: 1 }).add({ months: 1 });
  while (startOfDayMs(refillDate(month, refillDay), timezone) > atMs) month = month.subtract({ months: 1 });
  return {
    number: monthNumber(month),
    startMs: startOfDayMs(refillDate(month, refillDay), timezone),
    nextMs: startOfDayMs(refillDate(month.add({ months: 1 }), refillDay), timezone),
  };
}

/** The days are walked back to the one with that name. */
export function expectedWeekly(timezone: string, refillWeekday: number | null, atMs: number): Epoch {
  let day = dateAt(timezone, atMs).add({ days: 2 });
  while (day.dayOfWeek !== (refillWeekday ?? 1) || startOfDayMs(day, timezone) > atMs) day = day.subtract({ days: 1 });
  const weekdayOfDay0 = 4;
  const first = date('1970-01-01').subtract({ days: weekdayOfDay0 - (refillWeekday ?? 1) });
  return {
    number: first.until(day, { largestUnit: 'weeks' }).weeks,
    startMs: startOfDayMs(day, timezone),
    nextMs: startOfDayMs(day.add({ days: 7 }), timezone),
  };
}

const MINUTE_MS = 60_000;

/** The minutes are walked, back and forth, to where the local clock shows a full hour. */
export function expectedHourly(timezone: string, atMs: number): Epoch {
  const zonedAt = (ms_: number) => Temporal.Instant.fromEpochMilliseconds(ms_).toZonedDateTimeISO(timezone);
  // Until 1972 a zone was 44 minutes and 30 seconds from UTC.
  const minuteMs = atMs - zonedAt(atMs).second * 1_000 - zonedAt(atMs).millisecond;
  let startMs = minuteMs;
  while (zonedAt(startMs).minute !== 0) startMs -= MINUTE_MS;
  let nextMs = minuteMs + MINUTE_MS;
  while (zonedAt(nextMs).minute !== 0) nextMs += MINUTE_MS;
  const hourMs = 60 * MINUTE_MS;
  const partMs = (((zonedAt(startMs).offsetNanoseconds / 1e6) % hourMs) + hourMs) % hourMs;
  return { number: (startMs + partMs) / hourMs, startMs, nextMs };
}

export function expected({ interval, refillDay, refillWeekday, timezone }: Schedule, atMs: number): Epoch {
  if (interval === 'hourly') return expectedHourly(timezone, atMs);
  if (interval === 'daily') return expectedDaily(timezone, atMs);
  if (interval === 'weekly') return expectedWeekly(timezone, refillWeekday, atMs);
  return expectedMonthly(timezone, refillDay, atMs);
}
