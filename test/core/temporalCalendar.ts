import type { Epoch, Schedule } from '../../src/core/calendar.ts';

/**
 * The oracle is Temporal, which Bun has and the implementation may not use. Days are counted here by walking them one
 * by one or by PlainDate arithmetic, never by dividing milliseconds.
 */

export const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

export const zones = Intl.supportedValuesOf('timeZone');

export const daily = (timezone: string): Schedule => ({ interval: 'daily', refillDay: null, timezone });

export const monthly = (timezone: string, day: number | null): Schedule => ({
  interval: 'monthly',
  refillDay: day,
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

export const expected = ({ interval, refillDay, timezone }: Schedule, atMs: number) =>
  interval === 'daily' ? expectedDaily(timezone, atMs) : expectedMonthly(timezone, refillDay, atMs);
