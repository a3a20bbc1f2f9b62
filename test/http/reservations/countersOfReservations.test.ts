import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { MAX_LIVE_RESERVATIONS } from '../../../src/core/bounds.ts';
import { newReservation } from '../../postgres/conformance/samples.ts';
import { type Answer, type CallOptions, TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const reserve = (fields: object, options?: CallOptions): Promise<Answer> =>
  service.call('/v1/reservations.create', fields, options);
const reserved = (fields: object) => service.ok('/v1/reservations.create', fields);
const settle = (reservationId: string, cost: number) => service.ok('/v1/reservations.settle', { reservationId, cost });
const release = (reservationId: string) => service.ok('/v1/reservations.release', { reservationId });

const shown = async (keyId: string) => {
  const { remaining, held, grants } = await service.ok('/v1/keys.getKey', { keyId });
  return { remaining, ...(held === undefined ? {} : { held }), ...(grants === undefined ? {} : { grants }) };
};

/** Grants credits that expire. */
function grant(keyId: string, amount: number, expiresAt: number): Promise<unknown> {
  const call = { reason: 'a payment', idempotencyKey: `payment-${keyId.slice(-6)}-${expiresAt}` };
  return service.ok('/v1/credits.grant', { keyId, amount, expiresAt, ...call });
}

describe('a retry', () => {
  test('with the same idempotency key gets the same reservation, and holds nothing more', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const asked = { key, cost: 40, idempotencyKey: 'call-4711' };
    const [first, again] = [await reserve(asked), await reserve({ key, cost: 40 }, { headers: header('call-4711') })];
    expect([first.headers.get('keystile-replayed'), again.headers.get('keystile-replayed')]).toEqual([null, 'true']);
    expect({ ...again.body, requestId: '' }).toEqual({ ...first.body, requestId: '' });
    expect(await shown(keyId)).toEqual({ remaining: 60, held: 40 });
    await settle(first.body.reservationId, 10);
    expect((await reserved(asked)).reservationId).toBe(first.body.reservationId);
    expect(await shown(keyId)).toEqual({ remaining: 90 });
  });

  test('that asks for something else is a conflict', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    await reserved({ key, cost: 40, idempotencyKey: 'call-4711' });
    for (const other of [{ cost: 41 }, { cost: 40, ttlMs: 1_000 }, { cost: 40, onExpiry: 'charge' }]) {
      expect((await reserve({ key, ...other, idempotencyKey: 'call-4711' })).body.error).toMatchObject({
        code: 'CONFLICT',
        message: 'This idempotency key was used with a different request. Use a new one.',
      });
    }
    expect(await shown(keyId)).toEqual({ remaining: 60, held: 40 });
  });

  test('counts for a local limit once, and is answered although the limit is used up', async () => {
    for (const credits of [{ remaining: 100 }, {}]) {
      const { key } = await service.createKey({ ...credits, ratelimit: { async: true, limit: 2, duration: HOUR } });
      const asked = { key, cost: 40, idempotencyKey: 'call-4711' };
      const first = await reserved(asked);
      expect((await reserved(asked)).reservationId).toBe(first.reservationId);
      expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'VALID', ratelimit: { remaining: 0 } });
      expect(await reserved(asked)).toMatchObject({ code: 'VALID', reservationId: first.reservationId });
      expect(await reserved({ ...asked, idempotencyKey: 'call-4712' })).toMatchObject({ code: 'RATE_LIMITED' });
      expect((await reserve({ ...asked, cost: 41 })).status).toBe(409);
    }
  });

  test('with a key that is no longer valid gets no earlier answer', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const asked = { key, cost: 40, idempotencyKey: 'call-4711' };
    await reserved(asked);
    await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect(await reserved(asked)).toMatchObject({ valid: false, code: 'DISABLED' });
  });

  test('of two that end a reservation at once, one wins', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    for (const left of [90, 80, 70]) {
      const { reservationId } = await reserved({ key, cost: 10 });
      const answers = await Promise.all([
        service.call('/v1/reservations.settle', { reservationId, cost: 10 }),
        service.call('/v1/reservations.release', { reservationId }),
        service.call('/v1/reservations.settle', { reservationId, cost: 9 }),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
      const { charged } = answers.find(({ status }) => status === 200)?.body ?? {};
      await service.ok('/v1/keys.updateRemaining', { keyId, op: 'decrement', value: 10 - charged });
      expect(await shown(keyId)).toEqual({ remaining: left });
    }
  });
});

describe('limits', () => {
  test('strict ones are given back by a release while their window runs, not by a settlement', async () => {
    const { key } = await service.createKey({ ratelimit: { async: false, limit: 2, duration: HOUR } });
    const [one, two] = [await reserved({ key, cost: 1 }), await reserved({ key, cost: 1 })];
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
    await settle(one.reservationId, 0);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
    await release(two.reservationId);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'VALID' });
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('a window that has ended gets nothing back', async () => {
    const { key } = await service.createKey({ ratelimit: { async: false, limit: 2, duration: HOUR } });
    const { reservationId } = await reserved({ key, cost: 1, ttlMs: 2 * HOUR });
    service.clock.advance(HOUR);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ ratelimit: { remaining: 1 } });
    await release(reservationId);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ ratelimit: { remaining: 0 } });
  });

  test('local ones get nothing back', async () => {
    const { key } = await service.createKey({ ratelimit: { async: true, limit: 1, duration: HOUR } });
    await release((await reserved({ key, cost: 1 })).reservationId);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
  });
});

describe('grants', () => {
  test('are shown with what is left, taken first, and get back what came from them', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const soonMs = service.clock.nowMs() + HOUR;
    await grant(keyId, 30, soonMs);
    expect(await shown(keyId)).toEqual({ remaining: 130, grants: [{ left: 30, expiresAt: soonMs }] });
    await service.verify(key);
    expect(await shown(keyId)).toEqual({ remaining: 129, grants: [{ left: 29, expiresAt: soonMs }] });
    const { reservationId } = await reserved({ key, cost: 50 });
    expect(await shown(keyId)).toEqual({ remaining: 79, held: 50 });
    expect(await settle(reservationId, 10)).toEqual({ charged: 10, returned: 40, remaining: 119 });
    expect(await shown(keyId)).toEqual({ remaining: 119, grants: [{ left: 19, expiresAt: soonMs }] });
    service.clock.advance(HOUR);
    expect(await shown(keyId)).toEqual({ remaining: 100 });
  });

  test('that have expired meanwhile get nothing back', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    await grant(keyId, 30, service.clock.nowMs() + HOUR);
    const { reservationId } = await reserved({ key, cost: 50, ttlMs: 2 * HOUR });
    service.clock.advance(HOUR);
    expect(await settle(reservationId, 10)).toEqual({ charged: 10, returned: 20, remaining: 100 });
    expect(await shown(keyId)).toEqual({ remaining: 100 });
  });
});

test('a refill that is due comes before a settlement, and counts what is held as not spent', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100, refill: { interval: 'daily', amount: 100 } });
  const { reservationId } = await reserved({ key, cost: 30, ttlMs: 24 * HOUR });
  await service.verify(key, { remaining: { cost: 50 } });
  expect(await shown(keyId)).toEqual({ remaining: 20, held: 30 });
  service.clock.advance(12 * HOUR);
  expect(await settle(reservationId, 10)).toEqual({ charged: 10, returned: 20, remaining: 90 });
  expect(await shown(keyId)).toEqual({ remaining: 90 });
});

test('what is metered is held and charged without a balance', async () => {
  const { key, keyId } = await service.createKey({ metered: true });
  const { reservationId, remaining } = await reserved({ key, cost: 40 });
  expect([remaining, await shown(keyId)]).toEqual([undefined, { held: 40 }]);
  expect(await settle(reservationId, 25)).toEqual({ charged: 25, returned: 15 });
});

test('a reservation is durable', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const { reservationId } = await reserved({ key, cost: 40 });
  await service.restart();
  expect(await shown(keyId)).toEqual({ remaining: 60, held: 40 });
  expect(await settle(reservationId, 10)).toEqual({ charged: 10, returned: 30, remaining: 90 });
  await service.restart();
  expect(await settle(reservationId, 10)).toEqual({ charged: 10, returned: 30, remaining: 90 });
  expect(await shown(keyId)).toEqual({ remaining: 90 });
});

describe('a strict limit', () => {
  const TOKENS = { name: 'tokens', limit: 10_000, duration: 24 * HOUR, async: false };
  /** Without taking anything. */
  const leftOf = async (key: string, ...names: string[]): Promise<number[]> => {
    const limits = names.map((name) => ({ name, cost: 0 }));
    const { ratelimits } = await service.verify(key, { remaining: { cost: 0 }, ratelimits: limits });
    return ratelimits.map((each: { remaining: number }) => each.remaining);
  };

  test('that is asked for with the cost of the reservation gets back what a settlement returns, while its window runs', async () => {
    const requests = { name: 'requests', limit: 10, duration: 24 * HOUR, async: false };
    const { key } = await service.createKey({
      remaining: 100_000,
      ratelimits: [{ ...TOKENS }, requests],
    });
    const asked = { key, cost: 4_000, ratelimits: [{ name: 'tokens', cost: 4_000 }, { name: 'requests' }] };
    const { reservationId } = await reserved(asked);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([6_000, 9]);
    await settle(reservationId, 2_750);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([7_250, 9]);
    const all = await reserved(asked);
    await settle(all.reservationId, 4_000);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([3_250, 8]);
    const undone = await reserved({ ...asked, cost: 3_000, ratelimits: [{ name: 'tokens', cost: 3_000 }] });
    await release(undone.reservationId);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([3_250, 8]);
  });

  test('of another window gets nothing back', async () => {
    const { key } = await service.createKey({
      remaining: 100_000,
      ratelimits: [{ ...TOKENS, duration: HOUR }],
    });
    const asked = { key, cost: 4_000, ttlMs: 3 * HOUR, ratelimits: [{ name: 'tokens', cost: 4_000 }] };
    const { reservationId } = await reserved(asked);
    service.clock.advance(HOUR);
    await reserved(asked);
    await settle(reservationId, 1);
    expect(await leftOf(key, 'tokens')).toEqual([6_000]);
  });
});

test('a reservation of a deleted key can be settled, and charges nothing', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const { reservationId } = await reserved({ key, cost: 40 });
  await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
  expect(await settle(reservationId, 10)).toEqual({ charged: 0, returned: 0 });
});

test('a key has at most 10,000 reservations that are held; one more is a 429 that says so', async () => {
  const { key, keyId, apiId } = await service.createKey({ remaining: 20_000 });
  const { ledger } = service.storage;
  const none = { charges: [], fences: [], idempotency: null };
  const first = await reserved({ key, cost: 1 });
  for (let made = 1; made < MAX_LIVE_RESERVATIONS; made += 1_000) {
    const ids = Array.from({ length: Math.min(1_000, MAX_LIVE_RESERVATIONS - made) }, (_, i) => `rsv_${made + i}`);
    await Promise.all(ids.map((id) => ledger.reserve(none, newReservation(id, { keyId, apiId, ttlMs: HOUR }))));
  }
  const { status, body } = await reserve({ key, cost: 1 });
  expect([status, body.error.code, body.error.message]).toEqual([
    429,
    'RATE_LIMITED',
    'This key has 10000 reservations that are held, as many as it may have; settle or release some, or wait until some expire.',
  ]);
  expect(await shown(keyId)).toEqual({ remaining: 19_999, held: 1 });
  await release(first.reservationId);
  expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'VALID', remaining: 19_999 });
});

function header(idempotencyKey: string): Record<string, string> {
  return { 'idempotency-key': idempotencyKey };
}
