import { describe, expect, test } from 'bun:test';

import * as fc from 'fast-check';

import { Calendar, epochAt, isTimeZone } from '../../src/core/calendar.ts';
import {
  seed,
  daily,
  hourly,
  monthly,
  weekly,
  date,
  ms,
  startOfDayMs,
  dayNumber,
  expectedDaily,
  expectedMonthly,
  expected,
  zones,
} from './temporalCalendar.ts';

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

describe('named hours and weeks', () => {
  const hour = (from: string, to: string) => ({ startMs: ms(from), nextMs: ms(to) });

  test('an hour begins where the local clock shows it; where it is moved by half an hour, one lasts longer', () => {
    expect(epochAt(hourly('UTC'), ms('2026-03-15T12:59:59.999Z'))).toEqual({
      number: Date.UTC(2026, 2, 15, 12) / 3_600_000,
      ...hour('2026-03-15T12:00Z', '2026-03-15T13:00Z'),
    });
    const kathmandu = hour('2026-03-15T12:15Z', '2026-03-15T13:15Z');
    expect(epochAt(hourly('Asia/Kathmandu'), ms('2026-03-15T12:59Z'))).toMatchObject(kathmandu);
    // Set back from 02:00 to 01:30, and forward from 02:00 to 02:30: in both cases from 01:00 to the next full hour.
    const back = epochAt(hourly('Australia/Lord_Howe'), ms('2026-04-04T15:10Z'));
    expect(back).toMatchObject(hour('2026-04-04T14:00Z', '2026-04-04T15:30Z'));
    const forward = epochAt(hourly('Australia/Lord_Howe'), ms('2026-10-03T15:10Z'));
    expect(forward).toMatchObject(hour('2026-10-03T14:30Z', '2026-10-03T16:00Z'));
    // Counted as hours of time: the half hours add up.
    expect(forward.number - back.number).toBe((ms('2026-10-03T15:00Z') - ms('2026-04-04T14:00Z')) / 3_600_000);
    // A whole hour more or less changes nothing.
    const doubled = epochAt(hourly('Europe/Berlin'), ms('2026-10-25T01:30Z'));
    expect(doubled).toMatchObject(hour('2026-10-25T01:00Z', '2026-10-25T02:00Z'));
  });

  test('a week begins on Monday, or on the day that is asked for, at local midnight', () => {
    const sunday = ms('2026-03-15T12:00Z');
    expect(epochAt(weekly('UTC', null), sunday)).toMatchObject(hour('2026-03-09T00:00Z', '2026-03-16T00:00Z'));
    expect(epochAt(weekly('UTC', 7), sunday)).toMatchObject(hour('2026-03-15T00:00Z', '2026-03-22T00:00Z'));
    const havana = epochAt(weekly('America/Havana', 7), ms('2026-03-08T12:00Z'));
    expect(havana).toMatchObject(hour('2026-03-08T05:00Z', '2026-03-15T04:00Z'));
  });
});

describe('a calendar', () => {
  test('keeps every schedule of a zone apart', () => {
    const calendar = new Calendar();
    const schedules = [daily('Asia/Tokyo'), monthly('Asia/Tokyo', null)];
    for (let day = 1; day <= 31; day += 1) schedules.push(monthly('Asia/Tokyo', day));
    for (let day = 1; day <= 7; day += 1) schedules.push(weekly('Asia/Tokyo', day));
    schedules.push(hourly('Asia/Tokyo'));
    for (const atMs of [ms('2026-02-15T12:00Z'), ms('2026-02-15T13:00Z')]) {
      for (const schedule of schedules)
        expect(calendar.epochAt(schedule, atMs)).toMatchObject(expected(schedule, atMs));
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
    for (const timezone of spellings) expect(calendar.epochAt(daily(timezone), atMs)).toMatchObject(cairo);
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
