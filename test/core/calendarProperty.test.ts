import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { Calendar, epochAt, isTimeZone, type Epoch, type Schedule } from '../../src/core/calendar.ts';

/**
 * The oracle is Temporal, which Bun has and the implementation may not use. Days are counted here by walking them one
 * by one or by PlainDate arithmetic, never by dividing milliseconds.
 */

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
/** The sweep over all zones takes 4 s on a 2026 core; Bun gives up after 5 s unless told. */
const SWEEP_TIMEOUT_MS = 60_000;

const zones = Intl.supportedValuesOf('timeZone');

const daily = (timezone: string): Schedule => ({ interval: 'daily', refillDay: null, timezone });
const monthly = (timezone: string, day: number | null): Schedule => ({ interval: 'monthly', refillDay: day, timezone });

const date = (text: string) => Temporal.PlainDate.from(text);
const ms = (instant: string) => Temporal.Instant.from(instant).epochMilliseconds;
const dateAt = (timezone: string, atMs: number) =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone).toPlainDate();
const startOfDayMs = (day: Temporal.PlainDate, timezone: string) => day.toZonedDateTime(timezone).epochMilliseconds;
const dayNumber = (day: Temporal.PlainDate) => date('1970-01-01').until(day, { largestUnit: 'days' }).days;
const monthNumber = (day: Temporal.PlainDate) => (day.year - 1970) * 12 + day.month - 1;

/** The refill date of the month that `day` lies in. */
const refillDate = (day: Temporal.PlainDate, refillDay: number | null) =>
  Temporal.PlainDate.from({ year: day.year, month: day.month, day: refillDay ?? 1 }, { overflow: 'constrain' });

/** Two local days are looked at either side: no clock has ever been set back by more than one. */
function expectedDaily(timezone: string, atMs: number): Epoch {
  let day = dateAt(timezone, atMs).add({ days: 2 });
  while (startOfDayMs(day, timezone) > atMs) day = day.subtract({ days: 1 });
  return {
    number: dayNumber(day),
    startMs: startOfDayMs(day, timezone),
    nextMs: startOfDayMs(day.add({ days: 1 }), timezone),
  };
}

function expectedMonthly(timezone: string, refillDay: number | null, atMs: number): Epoch {
  let month = dateAt(timezone, atMs).with({ day: 1 }).add({ months: 1 });
  while (startOfDayMs(refillDate(month, refillDay), timezone) > atMs) month = month.subtract({ months: 1 });
  return {
    number: monthNumber(month),
    startMs: startOfDayMs(refillDate(month, refillDay), timezone),
    nextMs: startOfDayMs(refillDate(month.add({ months: 1 }), refillDay), timezone),
  };
}

const expected = ({ interval, refillDay, timezone }: Schedule, atMs: number) =>
  interval === 'daily' ? expectedDaily(timezone, atMs) : expectedMonthly(timezone, refillDay, atMs);

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

describe('all time zones, around every change of their clocks from 2000 to 2037', () => {
  test(
    'each day begins at the first instant of the local day, and no day begins twice',
    () => {
      let transitions = 0;
      for (const timezone of zones) {
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
      expect(transitions).toBeGreaterThan(10_000);
    },
    SWEEP_TIMEOUT_MS,
  );

  test(
    'a monthly refill on a day without a midnight comes at the first instant of that day',
    () => {
      let skippedMidnights = 0;
      for (const timezone of zones) {
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
      expect(skippedMidnights).toBeGreaterThan(300);
    },
    SWEEP_TIMEOUT_MS,
  );
});

describe('named days', () => {
  /** Written out by hand from the zones' rules, so that the oracle is checked as well. */
  const days: [why: string, timezone: string, day: string, first: string, hours: number][] = [
    ['has no midnight', 'Africa/Cairo', '2026-04-24', '2026-04-23T22:00Z', 23],
    ['has no midnight', 'Africa/Cairo', '2027-04-30', '2027-04-29T22:00Z', 23],
    ['has no midnight', 'America/Havana', '2026-03-08', '2026-03-08T05:00Z', 23],
    ['has no midnight', 'America/Havana', '2027-03-14', '2027-03-14T05:00Z', 23],
    ['has no midnight', 'America/Santiago', '2026-09-06', '2026-09-06T04:00Z', 23],
    ['has no midnight', 'America/Santiago', '2027-09-05', '2027-09-05T04:00Z', 23],
    ['has no midnight', 'Asia/Beirut', '2026-03-29', '2026-03-28T22:00Z', 23],
    ['has no midnight', 'Asia/Beirut', '2027-03-28', '2027-03-27T22:00Z', 23],
    ['has no midnight', 'Atlantic/Azores', '2026-03-29', '2026-03-29T01:00Z', 23],
    ['has no midnight', 'Atlantic/Azores', '2027-03-28', '2027-03-28T01:00Z', 23],
    ['begins where the day before jumps to its end', 'America/Nuuk', '2026-03-29', '2026-03-29T01:00Z', 24],
    ['has two midnights', 'America/Havana', '2026-11-01', '2026-11-01T04:00Z', 25],
    ['has two midnights', 'Atlantic/Azores', '2026-10-25', '2026-10-25T00:00Z', 25],
    ['has two midnights, the clock going back at 00:01', 'America/St_Johns', '2006-10-29', '2006-10-29T02:30Z', 25],
    ['has an hour more before midnight', 'America/Santiago', '2026-04-04', '2026-04-04T03:00Z', 25],
    ['is 30 minutes longer', 'Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00Z', 24.5],
    ['is 30 minutes shorter', 'Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30Z', 23.5],
    ['lies at 45 minutes past and ends later', 'Pacific/Chatham', '2026-04-05', '2026-04-04T10:15Z', 25],
    ['lies at 45 minutes past', 'Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15Z', 24],
    ['lies at 30 minutes past', 'Asia/Kolkata', '2026-01-01', '2025-12-31T18:30Z', 24],
    ['lies at 30 minutes past, west of Greenwich', 'Pacific/Marquesas', '2026-01-01', '2026-01-01T09:30Z', 24],
    ['moves by 30 minutes for good', 'Asia/Pyongyang', '2018-05-05', '2018-05-04T15:00Z', 24],
  ];

  test.each(days)('a day that %s: %s %s', (_why, timezone, day, first, hours) => {
    const startMs = ms(first);
    const epoch = { number: dayNumber(date(day)), startMs, nextMs: startMs + hours * 3_600_000 };
    expect(expectedDaily(timezone, startMs)).toEqual(epoch);
    expect(epochAt(daily(timezone), startMs)).toEqual(epoch);
    expect(epochAt(daily(timezone), epoch.nextMs - 1)).toEqual(epoch);
    expect(epochAt(daily(timezone), startMs - 1)).toMatchObject({ number: epoch.number - 1, nextMs: startMs });
    expect(epochAt(daily(timezone), epoch.nextMs)).toMatchObject({ number: epoch.number + 1, startMs: epoch.nextMs });
  });

  test.each([
    ['Pacific/Apia', '2011-12-29', '2011-12-31', '2011-12-30T10:00Z'],
    ['Pacific/Fakaofo', '2011-12-29', '2011-12-31', '2011-12-30T11:00Z'],
    ['Pacific/Kwajalein', '1993-08-20', '1993-08-22', '1993-08-21T12:00Z'],
    ['Pacific/Kiritimati', '1994-12-30', '1995-01-01', '1994-12-31T10:00Z'],
  ])('a day the calendar left out is counted but lasts no time: %s, after %s', (timezone, last, next, jump) => {
    const jumpMs = ms(jump);
    expect(epochAt(daily(timezone), jumpMs - 1)).toEqual({
      number: dayNumber(date(last)),
      startMs: jumpMs - 24 * 3_600_000,
      nextMs: jumpMs,
    });
    expect(epochAt(daily(timezone), jumpMs)).toEqual({
      number: dayNumber(date(last)) + 2,
      startMs: jumpMs,
      nextMs: startOfDayMs(date(next).add({ days: 1 }), timezone),
    });
  });

  test('the hour that the clock shows a second time belongs to the day that had begun', () => {
    const number = dayNumber(date('2006-10-29'));
    expect(epochAt(daily('America/St_Johns'), ms('2006-10-29T02:29:59.999Z')).number).toBe(number - 1);
    for (const atMs of ['02:30', '02:30:59.999', '02:31', '03:00', '03:29:59.999', '03:30', '03:31']) {
      expect(epochAt(daily('America/St_Johns'), ms(`2006-10-29T${atMs}Z`)).number).toBe(number);
    }
  });

  test('a month that begins before the clock goes back to the month before is not taken back', () => {
    const november = { number: 478, startMs: ms('2009-11-01T02:30Z'), nextMs: ms('2009-12-01T03:30Z') };
    const october = { number: 477, startMs: ms('2009-10-01T02:30Z'), nextMs: november.startMs };
    const firstOfMonth = monthly('America/St_Johns', null);
    expect(epochAt(firstOfMonth, ms('2009-11-01T02:29:59.999Z'))).toEqual(october);
    expect(epochAt(firstOfMonth, ms('2009-11-01T02:30Z'))).toEqual(november);
    expect(epochAt(firstOfMonth, ms('2009-11-01T02:31Z'))).toEqual(november);
    expect(epochAt(firstOfMonth, ms('2009-11-01T03:29:59.999Z'))).toEqual(november);
  });

  test.each([
    ['Africa/Cairo', 24, '2026-03-23T22:00Z', '2026-04-23T22:00Z', '2026-05-23T21:00Z'],
    ['America/Havana', 8, '2026-02-08T05:00Z', '2026-03-08T05:00Z', '2026-04-08T04:00Z'],
    ['America/Santiago', 6, '2026-08-06T04:00Z', '2026-09-06T04:00Z', '2026-10-06T03:00Z'],
    ['Asia/Beirut', 29, '2026-02-27T22:00Z', '2026-03-28T22:00Z', '2026-04-28T21:00Z'],
    ['Pacific/Apia', 30, '2011-11-30T10:00Z', '2011-12-30T10:00Z', '2012-01-29T10:00Z'],
    ['Pacific/Kiritimati', 31, '1994-11-30T10:00Z', '1994-12-31T10:00Z', '1995-01-30T10:00Z'],
  ])('a month begins on time though its refill day has no midnight: %s, day %d', (timezone, day, before, at, after) => {
    const { number } = epochAt(monthly(timezone, day), ms(before));
    const [beforeMs, atMs, afterMs] = [ms(before), ms(at), ms(after)];
    expect(epochAt(monthly(timezone, day), atMs - 1)).toEqual({ number, startMs: beforeMs, nextMs: atMs });
    expect(epochAt(monthly(timezone, day), atMs)).toEqual({ number: number + 1, startMs: atMs, nextMs: afterMs });
    expect(expectedMonthly(timezone, day, atMs)).toEqual({ number: number + 1, startMs: atMs, nextMs: afterMs });
  });
});

const anyInstantMs = fc.integer({ min: Date.UTC(1970, 0, 2), max: Date.UTC(2100, 0, 1) });
const anySchedule: fc.Arbitrary<Schedule> = fc.record({
  interval: fc.constantFrom('daily', 'monthly'),
  refillDay: fc.option(fc.integer({ min: 1, max: 31 })),
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

describe('a calendar', () => {
  test('keeps every schedule of a zone apart', () => {
    const calendar = new Calendar();
    const schedules = [daily('Asia/Tokyo'), monthly('Asia/Tokyo', null)];
    for (let day = 1; day <= 31; day += 1) schedules.push(monthly('Asia/Tokyo', day));
    for (const atMs of [ms('2026-02-15T12:00Z'), ms('2026-02-15T13:00Z')]) {
      for (const schedule of schedules) expect(calendar.epochAt(schedule, atMs)).toEqual(expected(schedule, atMs));
    }
  });

  test('answers from memory within an epoch, for equal schedules too, and computes outside of it', () => {
    const calendar = new Calendar();
    const epoch = calendar.epochAt(daily('Asia/Tokyo'), ms('2026-02-15T12:00Z'));
    expect(calendar.epochAt(daily('Asia/Tokyo'), epoch.startMs)).toBe(epoch);
    expect(calendar.epochAt(daily('Asia/Tokyo'), epoch.nextMs - 1)).toBe(epoch);
    expect(calendar.epochAt(daily('Asia/Tokyo'), epoch.nextMs).number).toBe(epoch.number + 1);
    expect(calendar.epochAt(daily('Asia/Tokyo'), epoch.startMs - 1).number).toBe(epoch.number - 1);
  });

  test('forgets the oldest zone rather than grow without end', () => {
    const calendar = new Calendar();
    const atMs = ms('2026-02-15T12:00Z');
    const first = calendar.epochAt(daily('Asia/Tokyo'), atMs);
    // Intl takes a name in any case, so that one zone with eleven letters has 2,048 names; half of them are enough.
    const spellings = Array.from({ length: 2_048 }, (_, bits) =>
      'africa/cairo'.replace(/./g, (letter, index: number) => ((bits >> index) & 1 ? letter.toUpperCase() : letter)),
    );
    const cairo = expectedDaily('Africa/Cairo', atMs);
    for (const timezone of spellings) expect(calendar.epochAt(daily(timezone), atMs)).toEqual(cairo);
    const again = calendar.epochAt(daily('Asia/Tokyo'), atMs);
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
  });
});

describe('a time zone name', () => {
  test('is taken when it is an IANA name, old names included', () => {
    const old = ['Asia/Calcutta', 'Asia/Kolkata', 'Europe/Kiev', 'Europe/Kyiv', 'US/Eastern', 'Japan', 'EST'];
    for (const name of ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT+5', ...old, ...zones]) {
      expect([name, isTimeZone(name)]).toEqual([name, true]);
    }
  });

  test('is refused when it is an offset, empty, misspelt, in another case or an abbreviation', () => {
    const offsets = ['+02:00', '-05:00', '+0200', '+02', '-00:00', 'GMT+2', 'GMT+02:00', 'UTC+2', 'Z'];
    const misspelt = ['', ' ', 'utc', 'Utc', 'europe/zurich', 'EUROPE/ZURICH', 'Europe/Zurich ', ' Europe/Zurich'];
    const unknown = ['Mars/Base', 'Europe/', '/Zurich', 'Europe', 'AST', 'PST', 'IST', 'SystemV/PST8', 'Etc/Unknown'];
    const hostile = ['../etc/passwd', 'Europe/Zurich\n', 'Europe/Zurich\0', 'undefined', '__proto__', 'A'.repeat(1e6)];
    for (const name of [...offsets, ...misspelt, ...unknown, ...hostile]) {
      expect([name, isTimeZone(name)]).toEqual([name, false]);
    }
  });

  test('never makes the check throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => typeof isTimeZone(name) === 'boolean'),
      { seed, numRuns: 1_000 },
    );
  });
});
