import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

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
