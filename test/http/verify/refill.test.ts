import { beforeEach, describe, expect, test, afterEach } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
/** Calendar dates stand in the tests, so the clock is set back before each: a new key knows nothing of what was. */
beforeEach(() => {
  service = started();
  service.clock.set('2026-03-15T12:00:00Z');
});

const DAY_MS = 86_400_000;
const at = (time: string): number => Date.parse(time);

const read = (keyId: string) => service.ok('/v1/keys.getKey', { keyId });
const balance = async (keyId: string): Promise<number> => (await read(keyId)).remaining as number;

/** A key made at `made` that has 1 of 10 left, and whose next boundary is `boundary`. */
async function holdsBoundary(made: string, refill: object, boundary: string): Promise<void> {
  service.clock.set(made);
  const { key, keyId } = await service.createKey({ remaining: 1, refill: { amount: 10, ...refill } });
  expect((await read(keyId)).refill).toMatchObject({ nextRefillAt: at(boundary) });
  service.clock.set(at(boundary) - 1);
  expect(await balance(keyId)).toBe(1);
  expect(await service.verify(key, { remaining: { cost: 2 } })).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 1 });
  service.clock.set(boundary);
  expect(await balance(keyId)).toBe(10);
  expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 9 });
  expect((await read(keyId)).refill).toMatchObject({ lastRefillAt: at(boundary) });
}

describe('a refill comes at its boundary, not a millisecond before', () => {
  test.each([
    ['an ordinary day', '2026-03-15T12:00:00Z', '2026-03-16T00:00:00Z'],
    ['the last of January', '2026-01-31T23:59:50Z', '2026-02-01T00:00:00Z'],
    ['28 February of a common year', '2026-02-28T23:59:50Z', '2026-03-01T00:00:00Z'],
    ['28 February of a leap year', '2028-02-28T23:59:50Z', '2028-02-29T00:00:00Z'],
    ['the last of the year', '2026-12-31T23:59:50Z', '2027-01-01T00:00:00Z'],
  ])('daily, %s', (_name, made, boundary) => holdsBoundary(made, { interval: 'daily' }, boundary));

  test.each([
    ['on the first', '2026-03-15T12:00:00Z', null, '2026-04-01T00:00:00Z'],
    ['on the first, over the year', '2026-12-31T23:59:50Z', null, '2027-01-01T00:00:00Z'],
    ['on a day still to come', '2026-03-15T12:00:00Z', 20, '2026-03-20T00:00:00Z'],
    ['on a day that has passed', '2026-03-15T12:00:00Z', 10, '2026-04-10T00:00:00Z'],
    ['on the 31st, in February', '2026-02-01T00:00:00Z', 31, '2026-02-28T00:00:00Z'],
    ['on the 31st, in a leap February', '2028-02-01T00:00:00Z', 31, '2028-02-29T00:00:00Z'],
    ['on the 30th, in a leap February', '2028-02-01T00:00:00Z', 30, '2028-02-29T00:00:00Z'],
    ['on the 31st, after a clamped February', '2026-02-28T00:00:00Z', 31, '2026-03-31T00:00:00Z'],
    ['on the 31st, in April', '2026-04-01T12:00:00Z', 31, '2026-04-30T00:00:00Z'],
    ['on the 31st of January', '2026-01-30T23:59:50Z', 31, '2026-01-31T00:00:00Z'],
    ['on the 31st of December', '2026-12-30T23:59:50Z', 31, '2026-12-31T00:00:00Z'],
  ])('monthly, %s', (_name, made, refillDay, boundary) => {
    return holdsBoundary(made, { interval: 'monthly', ...(refillDay === null ? {} : { refillDay }) }, boundary);
  });
});

describe('hours and weeks', () => {
  test.each([
    ['hourly', '2026-03-15T12:59:50Z', { interval: 'hourly' }, '2026-03-15T13:00:00Z'],
    ['hourly, of a zone with half hours', '2026-03-15T12:29:50Z', zoned('hourly'), '2026-03-15T12:30:00Z'],
    ['weekly', '2026-03-15T23:59:50Z', { interval: 'weekly' }, '2026-03-16T00:00:00Z'],
    ['weekly, on Friday', '2026-03-15T12:00:00Z', { interval: 'weekly', refillWeekday: 5 }, '2026-03-20T00:00:00Z'],
    ['weekly, in a zone', '2026-03-15T12:00:00Z', zoned('weekly'), '2026-03-15T18:30:00Z'],
  ])('%s', (_name, made, refill, boundary) => holdsBoundary(made, refill, boundary));

  function zoned(interval: string) {
    return { interval, timezone: 'Asia/Kolkata' };
  }

  test('the day of the week is shown with a weekly refill only, and kept while the rule is given again', async () => {
    const { keyId } = await service.createKey({ remaining: 5, refill: { interval: 'weekly', amount: 9 } });
    expect((await read(keyId)).refill).toMatchObject({ interval: 'weekly', refillDay: null, refillWeekday: 1 });
    await service.ok('/v1/keys.updateKey', { keyId, refill: { interval: 'weekly', amount: 9, refillWeekday: 7 } });
    expect((await read(keyId)).refill).toMatchObject({ refillWeekday: 7 });
    await service.ok('/v1/keys.updateKey', { keyId, refill: { interval: 'hourly', amount: 9 } });
    expect((await read(keyId)).refill).not.toHaveProperty('refillWeekday');
  });

  test.each(['hourly', 'daily', 'weekly', 'monthly'])(
    'a %s refill after a year without use: the first verification has it, and so has a change of the counter',
    async (interval) => {
      service.clock.set('2026-03-15T12:00:00Z');
      const refill = { interval, amount: 1, mode: 'add' };
      const passed = { hourly: 8760, daily: 365, weekly: 53, monthly: 12 }[interval] ?? 0;
      const [used, changed] = [
        await service.createKey({ remaining: 3, refill }),
        await service.createKey({ remaining: 3, refill }),
      ];
      service.clock.set('2027-03-15T12:00:00Z');
      expect(await service.verify(used.key)).toMatchObject({ valid: true, remaining: 3 + passed - 1 });
      const added = { keyId: changed.keyId, op: 'increment', value: 7 };
      expect(await service.ok('/v1/keys.updateRemaining', added)).toEqual({ remaining: 3 + passed + 7 });
    },
  );
});

describe('what a refill does', () => {
  test('restore raises to the amount and never lowers', async () => {
    const { keyId } = await service.createKey({ remaining: 50, refill: { interval: 'daily', amount: 10 } });
    service.clock.advance(DAY_MS);
    expect(await balance(keyId)).toBe(50);
    await service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 3 });
    expect(await balance(keyId)).toBe(3);
    service.clock.advance(DAY_MS);
    expect(await balance(keyId)).toBe(10);
  });

  test('add adds at every boundary up to max, and leaves a balance above max as it is', async () => {
    const refill = { interval: 'daily', amount: 10, mode: 'add', max: 25 };
    const { keyId } = await service.createKey({ remaining: 1, refill });
    const seen: number[] = [];
    for (let day = 0; day < 4; day++) {
      service.clock.advance(DAY_MS);
      seen.push(await balance(keyId));
    }
    expect(seen).toEqual([11, 21, 25, 25]);
    await service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 40 });
    service.clock.advance(DAY_MS);
    expect(await balance(keyId)).toBe(40);
  });

  test('add without max stops at 2^53-1', async () => {
    const refill = { interval: 'daily', amount: Number.MAX_SAFE_INTEGER, mode: 'add' };
    const { key, keyId } = await service.createKey({ remaining: 7, refill });
    service.clock.advance(3 * DAY_MS);
    expect(await balance(keyId)).toBe(Number.MAX_SAFE_INTEGER);
    expect(await service.verify(key)).toMatchObject({ remaining: Number.MAX_SAFE_INTEGER - 1 });
  });

  test.each([
    ['3 days', 'daily', '2026-03-18T12:00:00Z'],
    ['3 months', 'monthly', '2026-06-15T12:00:00Z'],
  ])('after a downtime of %s restore refills once, add once for each boundary', async (_name, interval, back) => {
    const restored = await service.createKey({ remaining: 2, refill: { interval, amount: 10 } });
    const added = await service.createKey({ remaining: 2, refill: { interval, amount: 10, mode: 'add' } });
    await service.stop();
    service.clock.set(back);
    await service.open();
    expect(await service.verify(restored.key)).toMatchObject({ remaining: 9 });
    expect(await service.verify(added.key)).toMatchObject({ remaining: 31 });
    await service.restart();
    expect(await service.verify(restored.key)).toMatchObject({ remaining: 8 });
    expect(await service.verify(added.key)).toMatchObject({ remaining: 30 });
  });

  test('a key is refilled while it is disabled, expired or rate-limited, and its refusals tell the refilled balance', async () => {
    const refill = { interval: 'daily', amount: 10 };
    const disabled = await service.createKey({ remaining: 0, refill, enabled: false });
    const expired = await service.createKey({ remaining: 0, refill, expires: at('2026-03-15T13:00:00Z') });
    const ratelimit = { limit: 1, duration: 7 * DAY_MS };
    const local = await service.createKey({ remaining: 1, refill, ratelimit });
    const strict = await service.createKey({ remaining: 1, refill, ratelimit: { ...ratelimit, async: false } });
    for (const { key } of [local, strict]) expect(await service.verify(key)).toMatchObject({ remaining: 0 });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(disabled.key)).toMatchObject({ code: 'DISABLED', remaining: 10 });
    expect(await service.verify(expired.key)).toMatchObject({ code: 'EXPIRED', remaining: 10 });
    expect(await service.verify(local.key)).toMatchObject({ code: 'RATE_LIMITED', remaining: 10 });
    expect(await service.verify(strict.key)).toMatchObject({ code: 'RATE_LIMITED', remaining: 10 });
    for (const { keyId } of [disabled, expired, local, strict]) expect(await balance(keyId)).toBe(10);
  });
});

describe('a clock that jumps', () => {
  test.each([['restore'], ['add']])('a day back gives no second refill (%s)', async (mode) => {
    const { key, keyId } = await service.createKey({ remaining: 0, refill: { interval: 'daily', amount: 10, mode } });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key, { remaining: { cost: 9 } })).toMatchObject({ remaining: 1 });
    service.clock.set('2026-03-15T12:00:00Z');
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 0 });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
    await service.restart();
    expect(await balance(keyId)).toBe(0);
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await balance(keyId)).toBe(10);
  });

  test('a month forward and back takes nothing away and grants nothing again', async () => {
    const { key, keyId } = await service.createKey({ remaining: 0, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-04-15T12:00:00Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 9 });
    service.clock.set('2026-03-15T12:00:00Z');
    expect(await balance(keyId)).toBe(9);
    service.clock.set('2026-04-15T23:59:59.999Z');
    expect(await balance(keyId)).toBe(9);
    service.clock.set('2026-04-16T00:00:00Z');
    expect(await balance(keyId)).toBe(10);
  });

  test('a boundary that was only read, not used, while the clock was ahead is not lost', async () => {
    const { keyId } = await service.createKey({ remaining: 0, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await balance(keyId)).toBe(10);
    service.clock.set('2026-03-15T12:00:00Z');
    expect(await balance(keyId)).toBe(0);
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await balance(keyId)).toBe(10);
  });

  test('another amount, set while the clock is a day back, does not refill the same day again', async () => {
    const { key, keyId } = await service.createKey({ remaining: 0, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key, { remaining: { cost: 10 } })).toMatchObject({ remaining: 0 });
    service.clock.set('2026-03-15T12:00:00Z');
    await service.ok('/v1/keys.updateKey', { keyId, refill: { interval: 'daily', amount: 20 } });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await balance(keyId)).toBe(0);
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await balance(keyId)).toBe(20);
  });
});

const update = (keyId: string, fields: object) => service.ok('/v1/keys.updateKey', { keyId, ...fields });

describe('the refill of a key object', () => {
  test('shows the whole rule, and lastRefillAt only once a boundary has passed', async () => {
    const { keyId } = await service.createKey({ remaining: 5, refill: { interval: 'daily', amount: 10 } });
    const rule = { interval: 'daily', amount: 10, refillDay: null, timezone: 'UTC', mode: 'restore' };
    expect((await read(keyId)).refill).toEqual({ ...rule, nextRefillAt: at('2026-03-16T00:00:00Z') });
    service.clock.set('2026-03-17T23:59:59.999Z');
    expect((await read(keyId)).refill).toEqual({
      ...rule,
      lastRefillAt: at('2026-03-17T00:00:00Z'),
      nextRefillAt: at('2026-03-18T00:00:00Z'),
    });
  });

  test('shows refillDay, mode, max and time zone as they were given', async () => {
    const rule = {
      interval: 'monthly',
      amount: 10,
      refillDay: 31,
      timezone: 'Asia/Tokyo',
      mode: 'add',
      max: 30,
    };
    const { keyId } = await service.createKey({ remaining: 5, refill: rule });
    expect((await read(keyId)).refill).toEqual({ ...rule, nextRefillAt: at('2026-03-30T15:00:00Z') });
  });

  test('a key made at the instant of a boundary waits for the next one', async () => {
    service.clock.set('2026-03-16T00:00:00Z');
    const { keyId } = await service.createKey({ remaining: 5, refill: { interval: 'daily', amount: 10 } });
    expect(await read(keyId)).toMatchObject({ remaining: 5, refill: { nextRefillAt: at('2026-03-17T00:00:00Z') } });
    expect((await read(keyId)).refill).not.toHaveProperty('lastRefillAt');
  });

  test('is the same in listKeys', async () => {
    const { keyId, apiId } = await service.createKey({ remaining: 5, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T00:00:00Z');
    const { refill } = await read(keyId);
    expect((await service.ok('/v1/apis.listKeys', { apiId })).keys).toMatchObject([
      { id: keyId, remaining: 10, refill },
    ]);
  });
});

describe('changing the rule', () => {
  test('applies the boundaries of the old one first, and gives no instant refill', async () => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T09:00:00Z');
    await update(keyId, { refill: { interval: 'daily', amount: 500 } });
    expect(await balance(keyId)).toBe(10);
    expect((await read(keyId)).refill).not.toHaveProperty('lastRefillAt');
    service.clock.set('2026-03-16T23:59:59.999Z');
    expect(await balance(keyId)).toBe(10);
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await balance(keyId)).toBe(500);
  });

  test.each([
    ['daily to monthly', { interval: 'daily' }, { interval: 'monthly' }, '2026-04-01T00:00:00Z'],
    ['monthly to daily', { interval: 'monthly' }, { interval: 'daily' }, '2026-03-16T00:00:00Z'],
    [
      'to a day that has passed',
      { interval: 'monthly' },
      { interval: 'monthly', refillDay: 10 },
      '2026-04-10T00:00:00Z',
    ],
    ['to a zone ahead', { interval: 'daily' }, { interval: 'daily', timezone: 'Asia/Tokyo' }, '2026-03-15T15:00:00Z'],
  ])('%s refills at the next boundary of the new rule', async (_name, before, after, boundary) => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { amount: 10, ...before } });
    await update(keyId, { refill: { amount: 20, ...after } });
    expect(await balance(keyId)).toBe(1);
    service.clock.set(at(boundary) - 1);
    expect(await balance(keyId)).toBe(1);
    service.clock.set(boundary);
    expect(await balance(keyId)).toBe(20);
  });

  test('a rule given again as it is leaves the running epoch alone', async () => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T09:00:00Z');
    await update(keyId, { refill: { interval: 'daily', amount: 10 } });
    expect(await read(keyId)).toMatchObject({ remaining: 10, refill: { lastRefillAt: at('2026-03-16T00:00:00Z') } });
  });

  test('remaining set together with a new rule wins over what the old one would have given', async () => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T09:00:00Z');
    await update(keyId, { remaining: 3, refill: { interval: 'daily', amount: 20 } });
    expect(await balance(keyId)).toBe(3);
  });

  test('an increment after a boundary is on top of the refill', async () => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.ok('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 5 })).toEqual({
      remaining: 15,
    });
    expect(await balance(keyId)).toBe(15);
  });

  test('refill: null keeps the counter, with what was due, and ends the refills', async () => {
    const { keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    service.clock.set('2026-03-16T00:00:00Z');
    await update(keyId, { refill: null });
    expect(await read(keyId)).toMatchObject({ remaining: 10 });
    expect(await read(keyId)).not.toHaveProperty('refill');
    await service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 2 });
    service.clock.set('2026-03-20T00:00:00Z');
    expect(await balance(keyId)).toBe(2);
  });

  test.each([
    ['updateKey', (keyId: string) => update(keyId, { remaining: null })],
    ['updateRemaining', (keyId: string) => service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: null })],
  ])('remaining: null by %s clears the refill too', async (_name, clear) => {
    const { key, keyId } = await service.createKey({ remaining: 1, refill: { interval: 'daily', amount: 10 } });
    await clear(keyId);
    expect(await read(keyId)).not.toHaveProperty('refill');
    expect(await read(keyId)).not.toHaveProperty('remaining');
    expect(await service.verify(key)).not.toHaveProperty('remaining');
    await update(keyId, { remaining: 4 });
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await balance(keyId)).toBe(4);
  });

  test('a refill for a key without a counter is refused and changes nothing', async () => {
    const { keyId } = await service.createKey({ name: 'plain' });
    const before = await read(keyId);
    const refill = { interval: 'daily', amount: 10 };
    for (const fields of [{ refill }, { refill, remaining: null }]) {
      const answer = await service.call('/v1/keys.updateKey', { keyId, name: 'other', ...fields });
      expect([answer.status, answer.body.error.message]).toEqual([400, 'A refill needs credits: send remaining too.']);
    }
    expect(await read(keyId)).toEqual(before);
  });
});

describe('refills in time zones', () => {
  let own: TestService;

  afterEach(async () => {
    await own.close();
  });

  /** The first instants of three local days in a row; two of them lie around a transition. */
  const ZONES: readonly [name: string, timezone: string, boundaries: readonly string[]][] = [
    ['the day of 23 hours', 'Europe/Berlin', ['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '2026-03-30T22:00:00Z']],
    ['the day of 25 hours', 'Europe/Berlin', ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', '2026-10-26T23:00:00Z']],
    ['a skipped midnight', 'Africa/Cairo', ['2026-04-22T22:00:00Z', '2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z']],
    ['a skipped midnight', 'America/Havana', ['2026-03-07T05:00:00Z', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
    ['a doubled midnight', 'America/Havana', ['2026-10-31T04:00:00Z', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z']],
    ['a half-hour offset', 'Asia/Kolkata', ['2026-03-14T18:30:00Z', '2026-03-15T18:30:00Z', '2026-03-16T18:30:00Z']],
    ['14 hours ahead', 'Pacific/Kiritimati', ['2026-12-30T10:00:00Z', '2026-12-31T10:00:00Z', '2027-01-01T10:00:00Z']],
  ];

  test.each(ZONES)(
    '%s in %s: one refill at the first instant of each local day',
    async (_name, timezone, boundaries) => {
      const [first = '', ...later] = boundaries;
      own = await TestService.start({ startsAt: first });
      const refill = { interval: 'daily', amount: 1, mode: 'add', timezone };
      const { keyId } = await own.createKey({ remaining: 0, refill });
      const shown = () => own.ok('/v1/keys.getKey', { keyId });
      for (const [days, boundary] of later.entries()) {
        expect(await shown()).toMatchObject({ refill: { nextRefillAt: at(boundary) } });
        own.clock.set(at(boundary) - 1);
        expect(await shown()).toMatchObject({ remaining: days });
        own.clock.set(boundary);
        expect(await shown()).toMatchObject({ remaining: days + 1, refill: { lastRefillAt: at(boundary) } });
      }
    },
  );

  test('a monthly refill comes with the first instant of the local day, across the change of the offset', async () => {
    own = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
    const refill = { interval: 'monthly', amount: 10, timezone: 'Europe/Berlin' };
    const { keyId } = await own.createKey({ remaining: 0, refill });
    const shown = () => own.ok('/v1/keys.getKey', { keyId });
    expect((await shown()).refill.nextRefillAt).toBe(at('2026-03-31T22:00:00Z'));
    own.clock.set('2026-03-31T21:59:59.999Z');
    expect((await shown()).remaining).toBe(0);
    own.clock.set('2026-03-31T22:00:00Z');
    expect(await shown()).toMatchObject({ remaining: 10, refill: { nextRefillAt: at('2026-04-30T22:00:00Z') } });
  });

  test('KEYSTILE_TIMEZONE is the zone of refills that name none, and stays theirs when it changes', async () => {
    own = await TestService.start({
      startsAt: '2026-01-10T12:00:00Z',
      settings: { KEYSTILE_TIMEZONE: 'Europe/Berlin' },
    });
    const refill = { interval: 'daily', amount: 10 };
    const unnamed = await own.createKey({ remaining: 0, refill });
    const named = await own.createKey({ remaining: 0, refill: { ...refill, timezone: 'UTC' } });
    const shown = (from: TestService, keyId: string) => from.ok('/v1/keys.getKey', { keyId });
    expect((await shown(own, unnamed.keyId)).refill).toMatchObject({
      timezone: 'Europe/Berlin',
      nextRefillAt: at('2026-01-10T23:00:00Z'),
    });
    own.clock.set('2026-01-10T23:00:00Z');
    expect((await shown(own, unnamed.keyId)).remaining).toBe(10);
    expect((await shown(own, named.keyId)).remaining).toBe(0);
    await own.stop();
    const later = await TestService.start({ folder: own.folder, startsAt: '2026-01-11T12:00:00Z' });
    try {
      expect((await shown(later, unnamed.keyId)).refill).toMatchObject({
        timezone: 'Europe/Berlin',
        nextRefillAt: at('2026-01-11T23:00:00Z'),
      });
    } finally {
      await later.close();
    }
  });
});

describe('refills under load', () => {
  let own: TestService;

  beforeEach(async () => {
    own = await TestService.start({ startsAt: '2026-03-15T23:59:50Z' });
  });

  afterEach(async () => {
    await own.close();
  });

  /** `count` values going down from `top` - 1: what a balance of `top` answers when it is taken one by one. */
  const countdown = (top: number, count: number): number[] => Array.from({ length: count }, (_, i) => top - 1 - i);
  const descending = (values: number[]): number[] => values.sort((a, b) => b - a);

  /** Begins 10,000 verifications in 100 portions, with midnight in the middle of them and none awaited before the end. */
  async function crossMidnight(key: string): Promise<{ valid: boolean; remaining: number }[]> {
    const verdicts: Promise<{ valid: boolean; remaining: number }>[] = [];
    for (let portion = 0; portion < 100; portion++) {
      if (portion === 50) own.clock.set('2026-03-16T00:00:00Z');
      for (let i = 0; i < 100; i++) verdicts.push(own.verify(key));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return Promise.all(verdicts);
  }

  describe('10,000 verifications across midnight', () => {
    test('restore: each success is charged to exactly one day, and the refill comes once', async () => {
      const { key, keyId } = await own.createKey({
        remaining: 9000,
        refill: { interval: 'daily', amount: 20_000 },
      });
      const verdicts = await crossMidnight(key);
      const after = 20_000 - ((await own.ok('/v1/keys.getKey', { keyId })).remaining as number);
      expect(after).toBeGreaterThanOrEqual(5000);
      const expected = [...countdown(20_000, after), ...countdown(9000, 10_000 - after)];
      expect(verdicts.every(({ valid }) => valid)).toBe(true);
      expect(descending(verdicts.map(({ remaining }) => remaining))).toEqual(expected);
    });

    test('add: what was there and what was added are used up to the unit, never more', async () => {
      const refill = { interval: 'daily', amount: 2000, mode: 'add' };
      const { key, keyId } = await own.createKey({ remaining: 6000, refill });
      const verdicts = await crossMidnight(key);
      expect(verdicts.filter(({ valid }) => valid).length).toBe(8000);
      expect((await own.ok('/v1/keys.getKey', { keyId })).remaining).toBe(0);
    });
  });

  describe('the background sweep', () => {
    /** The accounts table as a person with a shell sees it. */
    function storedBalances(): { value: number; due_at_ms: number }[] {
      const db = new Database(join(own.folder, 'keystile.db'), { readonly: true });
      try {
        return db.query('SELECT value, due_at_ms FROM accounts ORDER BY id').all() as {
          value: number;
          due_at_ms: number;
        }[];
      } finally {
        db.close();
      }
    }

    test('writes down the refills of keys that nobody touched', async () => {
      const apiId = await own.createApi();
      await own.createKey({ apiId, remaining: 1, refill: { interval: 'daily', amount: 10 } });
      await own.createKey({ apiId, remaining: 1, refill: { interval: 'daily', amount: 10, mode: 'add' } });
      await own.createKey({ apiId, remaining: 1, refill: { interval: 'monthly', amount: 10 } });
      await own.createKey({ apiId, remaining: 1 });
      await own.restart();
      expect(await own.engine.dueCredits.sweep()).toBe(0);
      own.clock.set('2026-03-17T00:00:00Z');
      expect(await own.engine.dueCredits.sweep()).toBe(2);
      await own.stop();
      expect(storedBalances()).toEqual([
        { value: 10, due_at_ms: Date.parse('2026-03-18T00:00:00Z') },
        { value: 21, due_at_ms: Date.parse('2026-03-18T00:00:00Z') },
        { value: 1, due_at_ms: Date.parse('2026-04-01T00:00:00Z') },
        { value: 1, due_at_ms: 0 },
      ]);
    });

    test('run again, or after a touch, it writes nothing and refills nothing twice', async () => {
      const refill = { interval: 'daily', amount: 10, mode: 'add' };
      const { key } = await own.createKey({ remaining: 1, refill });
      await own.restart();
      own.clock.set('2026-03-16T00:00:00Z');
      expect(await own.verify(key)).toMatchObject({ remaining: 10 });
      for (let run = 0; run < 2; run++) expect(await own.engine.dueCredits.sweep()).toBe(0);
      await own.stop();
      expect(storedBalances()).toEqual([{ value: 10, due_at_ms: Date.parse('2026-03-17T00:00:00Z') }]);
    });

    test('goes past one step: 450 due keys are all written down in one run', async () => {
      const apiId = await own.createApi();
      const refill = { interval: 'daily', amount: 10 };
      await Promise.all(Array.from({ length: 450 }, () => own.createKey({ apiId, remaining: 0, refill })));
      await own.restart();
      own.clock.set('2026-03-16T00:00:00Z');
      expect(await own.engine.dueCredits.sweep()).toBe(450);
      await own.stop();
      expect(storedBalances().filter(({ value }) => value === 10).length).toBe(450);
    });

    test('passes over keys that were deleted, and refills a disabled one', async () => {
      const apiId = await own.createApi();
      const refill = { interval: 'daily', amount: 10 };
      const gone = await own.createKey({ apiId, remaining: 1, refill });
      await own.createKey({ apiId, remaining: 2, refill, enabled: false });
      await own.ok('/v1/keys.deleteKey', { keyId: gone.keyId });
      await own.restart();
      own.clock.set('2026-03-16T00:00:00Z');
      expect(await own.engine.dueCredits.sweep()).toBe(1);
      await own.stop();
      expect(storedBalances().map(({ value }) => value)).toEqual([1, 10]);
    });
  });
});
