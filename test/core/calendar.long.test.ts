import { describe, expect, test } from 'bun:test';

import * as fc from 'fast-check';

import { Calendar, type Epoch, epochAt, REFILL_INTERVALS, type Schedule } from '../../src/core/calendar.ts';
import { timesAsMany } from '../support/runs.ts';
import {
  seed,
  zones,
  daily,
  hourly,
  monthly,
  date,
  ms,
  startOfDayMs,
  dayNumber,
  monthNumber,
  refillDate,
  expectedDaily,
  expected,
} from './temporalCalendar.ts';

/** One run walks every sixth zone, chosen by the seed. KEYSTILE_TEST_RUNS=10 walks all of them. */
const SHARE = Math.max(1, Math.ceil(6 / timesAsMany(1)));
const walkedZones = zones.filter((_, i) => i % SHARE === seed % SHARE);

const isSame = (a: Epoch, b: Epoch) => a.number === b.number && a.startMs === b.startMs && a.nextMs === b.nextMs;

/** With the clocks as they are after the change. */
function* transitionsOf(timezone: string): Generator<Temporal.ZonedDateTime> {
  const from = Temporal.Instant.from('2000-01-01T00:00Z').toZonedDateTimeISO(timezone);
  let transition = from.getTimeZoneTransition('next');
  while (transition !== null && transition.year < 2038) {
    yield transition;
    transition = transition.getTimeZoneTransition('next');
  }
}

/** In order. The epochs they lie in reach from the day before the change to the day after the next. */
function instantsAround(timezone: string, transition: Temporal.ZonedDateTime): number[] {
  const todayMs = startOfDayMs(transition.toPlainDate(), timezone);
  const tomorrowMs = startOfDayMs(transition.toPlainDate().add({ days: 1 }), timezone);
  const atMs = transition.epochMilliseconds;
  const instants = [todayMs - 1, todayMs, atMs - 1, atMs, atMs + 30 * 60_000, tomorrowMs - 1, tomorrowMs];
  return instants.toSorted((a, b) => a - b);
}

describe('UTC', () => {
  test('every day of 2000 to 2099 is one epoch, from its first to its last millisecond', () => {
    let day = date('2000-01-01');
    let number = dayNumber(day);
    let days = 0;
    while (day.year < 2100) {
      const startMs = startOfDayMs(day, 'UTC');
      const tomorrow = day.add({ days: 1 });
      const nextMs = startOfDayMs(tomorrow, 'UTC');
      expect(epochAt(daily('UTC'), startMs)).toEqual({ number, startMs, nextMs });
      expect(epochAt(daily('UTC'), nextMs - 1)).toEqual({ number, startMs, nextMs });
      day = tomorrow;
      number += 1;
      days += 1;
    }
    expect(days).toBe(36_525);
  });

  test.each([null, ...Array.from({ length: 31 }, (_, index) => index + 1)])(
    'every month of 2000 to 2099 begins on refill day %p or, where there is none, on its last day',
    (refillDay) => {
      const schedule = monthly('UTC', refillDay);
      let month = date('2000-01-01');
      let number = monthNumber(month);
      const startOf = (day: Temporal.PlainDate) => startOfDayMs(refillDate(day, refillDay), 'UTC');
      while (month.year < 2100) {
        const startMs = startOf(month);
        const nextMs = startOf(month.add({ months: 1 }));
        const previous = { number: number - 1, startMs: startOf(month.subtract({ months: 1 })), nextMs: startMs };
        expect(epochAt(schedule, startMs - 1)).toEqual(previous);
        expect(epochAt(schedule, startMs)).toEqual({ number, startMs, nextMs });
        expect(epochAt(schedule, startMs + 1)).toEqual({ number, startMs, nextMs });
        month = month.add({ months: 1 });
        number += 1;
      }
    },
  );

  test('a refill on the 31st comes on the 29th in a leap February and on the 28th in another', () => {
    const onThe31st = monthly('UTC', 31);
    expect(epochAt(onThe31st, ms('2028-02-29T00:00Z')).startMs).toBe(ms('2028-02-29T00:00Z'));
    expect(epochAt(onThe31st, ms('2027-02-28T00:00Z')).startMs).toBe(ms('2027-02-28T00:00Z'));
    expect(epochAt(onThe31st, ms('2100-02-28T00:00Z')).startMs).toBe(ms('2100-02-28T00:00Z'));
    expect(epochAt(onThe31st, ms('2028-02-28T23:59:59.999Z')).startMs).toBe(ms('2028-01-31T00:00Z'));
  });
});

describe('time zones, around every change of their clocks from 2000 to 2037', () => {
  test('each day begins at the first instant of the local day, and no day begins twice', () => {
    let transitions = 0;
    for (const timezone of walkedZones) {
      const schedule = daily(timezone);
      for (const transition of transitionsOf(timezone)) {
        transitions += 1;
        let lastNumber = -Infinity;
        for (const atMs of instantsAround(timezone, transition)) {
          const epoch = epochAt(schedule, atMs);
          const oracle = expectedDaily(timezone, atMs);
          // The matcher costs more than the calendar: it explains a difference, it does not look for one.
          if (!isSame(epoch, oracle)) expect({ timezone, atMs, ...epoch }).toEqual({ timezone, atMs, ...oracle });
          const isInOrder = lastNumber <= epoch.number && epoch.startMs <= atMs && atMs < epoch.nextMs;
          if (!isInOrder) throw new Error(`out of order: ${JSON.stringify({ timezone, atMs, lastNumber, epoch })}`);
          lastNumber = epoch.number;
        }
      }
    }
    // Zone data grows; far fewer would mean that nothing was walked.
    expect(transitions).toBeGreaterThan(10_000 / SHARE / 2);
  });

  test('a monthly refill on a day without a midnight comes at the first instant of that day', () => {
    let skippedMidnights = 0;
    for (const timezone of walkedZones) {
      for (const transition of transitionsOf(timezone)) {
        const day = transition.toPlainDate();
        const start = day.toZonedDateTime(timezone);
        if (start.hour === 0 && start.minute === 0) continue;
        skippedMidnights += 1;
        const schedule = monthly(timezone, day.day);
        const atMs = start.epochMilliseconds;
        expect(epochAt(schedule, atMs)).toEqual(expected(schedule, atMs));
        expect(epochAt(schedule, atMs).startMs).toBe(atMs);
        expect(epochAt(schedule, atMs - 1)).toEqual(expected(schedule, atMs - 1));
        expect(epochAt(schedule, atMs - 1).nextMs).toBe(atMs);
      }
    }
    expect(skippedMidnights).toBeGreaterThan(0);
  });

  test('where a clock is moved by a part of an hour, hours begin where it shows a full one', () => {
    const HOUR_MS = 3_600_000;
    let moves = 0;
    for (const timezone of ['Australia/Lord_Howe', 'Asia/Pyongyang', 'America/Caracas', 'Asia/Colombo']) {
      for (const transition of transitionsOf(timezone)) {
        const before = transition.subtract({ milliseconds: 1 }).offsetNanoseconds;
        if ((transition.offsetNanoseconds - before) % (HOUR_MS * 1e6) === 0) continue;
        moves += 1;
        const atMs = transition.epochMilliseconds;
        for (const byMs of [-HOUR_MS, -1, 0, HOUR_MS / 2 - 1, HOUR_MS / 2, HOUR_MS]) {
          const schedule = hourly(timezone);
          expect(epochAt(schedule, atMs + byMs)).toEqual(expected(schedule, atMs + byMs));
        }
      }
    }
    expect(moves).toBeGreaterThan(70);
  });
});

const anyInstantMs = fc.integer({ min: Date.UTC(1970, 0, 2), max: Date.UTC(2100, 0, 1) });

const anySchedule: fc.Arbitrary<Schedule> = fc.record({
  interval: fc.constantFrom(...REFILL_INTERVALS),
  refillDay: fc.option(fc.integer({ min: 1, max: 31 })),
  refillWeekday: fc.option(fc.integer({ min: 1, max: 7 })),
  timezone: fc.constantFrom('UTC', ...zones),
});

describe('any schedule at any time', () => {
  test('the epoch is the one that Temporal finds, and its neighbours meet it without a gap', () => {
    fc.assert(
      fc.property(anySchedule, anyInstantMs, (schedule, atMs) => {
        const epoch = epochAt(schedule, atMs);
        expect(epoch).toEqual(expected(schedule, atMs));
        expect(epochAt(schedule, epoch.startMs)).toEqual(epoch);
        expect(epochAt(schedule, epoch.nextMs - 1)).toEqual(epoch);
        for (const otherMs of [epoch.nextMs, epoch.startMs - 1]) {
          expect(epochAt(schedule, otherMs)).toEqual(expected(schedule, otherMs));
        }
        expect(epochAt(schedule, epoch.nextMs).startMs).toBe(epoch.nextMs);
        expect(epochAt(schedule, epoch.startMs - 1).nextMs).toBe(epoch.startMs);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test('later is never a smaller number', () => {
    fc.assert(
      fc.property(anySchedule, anyInstantMs, anyInstantMs, (schedule, oneMs, otherMs) => {
        const earlier = epochAt(schedule, Math.min(oneMs, otherMs));
        const later = epochAt(schedule, Math.max(oneMs, otherMs));
        expect(earlier.number).toBeLessThanOrEqual(later.number);
        expect(earlier.startMs).toBeLessThanOrEqual(later.startMs);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test('a calendar answers as if it remembered nothing, also when time goes backwards', () => {
    const step = fc.oneof(
      anyInstantMs.map((toMs) => () => toMs),
      fc.integer({ min: -40 * 86_400_000, max: 40 * 86_400_000 }).map((byMs) => (atMs: number) => atMs + byMs),
      fc.integer({ min: -3_600_000, max: 3_600_000 }).map((byMs) => (atMs: number) => atMs + byMs),
    );
    // Few schedules, each asked many times.
    const anyCalls = fc
      .array(anySchedule, { minLength: 1, maxLength: 4 })
      .chain((schedules) => fc.array(fc.tuple(fc.constantFrom(...schedules), step), { maxLength: 30 }));
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const calendar = new Calendar();
        let nowMs = Date.UTC(2026, 0, 1);
        for (const [schedule, move] of calls) {
          nowMs = move(nowMs);
          expect(calendar.epochAt(schedule, nowMs)).toEqual(epochAt(schedule, nowMs));
        }
      }),
      { seed, numRuns: 200 },
    );
  });
});
