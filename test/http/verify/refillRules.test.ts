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

const at = (time: string): number => Date.parse(time);
const read = (keyId: string) => service.ok('/v1/keys.getKey', { keyId });
const balance = async (keyId: string): Promise<number> => (await read(keyId)).remaining as number;
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
