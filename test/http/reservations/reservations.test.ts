import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type Answer, TestService, type CallOptions } from '../../support/service.ts';
import { MAX_LIVE_RESERVATIONS } from '../../../src/core/bounds.ts';
import { newReservation } from '../../postgres/conformance/samples.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const reserve = (fields: object, options?: CallOptions): Promise<Answer> =>
  service.call('/v1/reservations.create', fields, options);
const reserved = (fields: object) => service.ok('/v1/reservations.create', fields);
const settle = (reservationId: string, cost: number, more: object = {}): Promise<Answer> =>
  service.call('/v1/reservations.settle', { reservationId, cost, ...more });
const release = (reservationId: string): Promise<Answer> => service.call('/v1/reservations.release', { reservationId });
const get = (reservationId: string) => service.ok('/v1/reservations.get', { reservationId });

const balance = async (keyId: string): Promise<object> => {
  const { remaining, held } = await service.ok('/v1/keys.getKey', { keyId });
  return { remaining, held };
};

const refusal = ({ status, body }: Answer): [number, string, string] => [status, body.error.code, body.error.message];
const at = (offsetMs = 0): string => new Date(service.clock.nowMs() + offsetMs).toISOString();

describe('a reservation', () => {
  test('is a verdict with its id and expiry; the credits are held beside those that remain', async () => {
    const { key, keyId, apiId } = await service.createKey({ remaining: 100 });
    const answer = await reserved({ key, cost: 40 });
    expect(answer).toMatchObject({ valid: true, code: 'VALID', keyId, remaining: 60 });
    const expiresAt = service.clock.nowMs() + 600_000;
    expect([answer.reservationId.startsWith('rsv_'), answer.expiresAt]).toEqual([true, expiresAt]);
    expect(await balance(keyId)).toEqual({ remaining: 60, held: 40 });
    expect(await get(answer.reservationId)).toEqual({
      id: answer.reservationId,
      keyId,
      apiId,
      cost: 40,
      state: 'held',
      onExpiry: 'release',
      createdAt: service.clock.nowMs(),
      expiresAt,
    });
  });

  test('settles with the real cost, and returns the rest', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    expect((await settle(reservationId, 25)).body).toEqual({ charged: 25, returned: 15, remaining: 75 });
    expect(await balance(keyId)).toEqual({ remaining: 75, held: undefined });
    const ended = { state: 'settled', settledCost: 25, charged: 25, returned: 15, endedAt: service.clock.nowMs() };
    expect(await get(reservationId)).toMatchObject(ended);
  });

  test('releases all', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    expect((await release(reservationId)).body).toEqual({ charged: 0, returned: 40, remaining: 100 });
    expect(await balance(keyId)).toEqual({ remaining: 100, held: undefined });
  });

  test('is refused when the credits do not suffice, and holds nothing', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const answer = await reserved({ key, cost: 101 });
    expect(answer).toMatchObject({ valid: false, code: 'USAGE_EXCEEDED', remaining: 100 });
    expect(answer.reservationId).toBeUndefined();
    expect(await balance(keyId)).toEqual({ remaining: 100, held: undefined });
    expect(await reserved({ key: 'not_a_key', cost: 1 })).toEqual({
      valid: false,
      code: 'NOT_FOUND',
      requestId: expect.any(String),
      meta: {},
    });
  });

  test('of a key without credits holds nothing, and can be settled', async () => {
    const { key, keyId } = await service.createKey();
    const { reservationId, remaining } = await reserved({ key, cost: 40 });
    expect(remaining).toBeUndefined();
    expect((await settle(reservationId, 25)).body).toEqual({ charged: 0, returned: 0 });
    expect(await balance(keyId)).toEqual({ remaining: undefined, held: undefined });
  });

  test('holds the credits of the key and of its identity together', async () => {
    const externalId = 'reserving';
    await service.ok('/v1/identities.createIdentity', { externalId, remaining: 50 });
    const { key, keyId } = await service.createKey({ remaining: 100, externalId });
    const shared = async (): Promise<object> => {
      const { remaining, held } = await service.ok('/v1/identities.getIdentity', { externalId });
      return { remaining, held };
    };
    const { reservationId, remaining } = await reserved({ key, cost: 40 });
    expect([remaining, await balance(keyId), await shared()]).toEqual([
      10,
      { remaining: 60, held: 40 },
      { remaining: 10, held: 40 },
    ]);
    expect((await settle(reservationId, 25)).body).toEqual({ charged: 25, returned: 15, remaining: 25 });
    expect([await balance(keyId), await shared()]).toEqual([
      { remaining: 75, held: undefined },
      { remaining: 25, held: undefined },
    ]);
  });

  test('counts as one verification', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40, tags: ['model=large'] });
    await settle(reservationId, 25);
    const { verifications } = await service.ok('/v1/keys.getVerifications', { keyId });
    const counted = verifications.filter(({ success }: { success: number }) => success > 0);
    expect(counted).toMatchObject([{ success: 1 }]);
  });
});

describe('a cost above the reservation', () => {
  test('is refused with both numbers and the way to allow it', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    expect(refusal(await settle(reservationId, 55))).toEqual([
      412,
      'PRECONDITION_FAILED',
      `The reservation ${reservationId} holds 40 and cannot be settled with 55. Set allowOverage to true to take the difference from the credits that are left.`,
    ]);
    expect(await balance(keyId)).toEqual({ remaining: 60, held: 40 });
  });

  test('takes the difference with allowOverage, as far as the credits suffice', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const [one, two] = [await reserved({ key, cost: 40 }), await reserved({ key, cost: 40 })];
    const allowed = { allowOverage: true };
    expect((await settle(one.reservationId, 45, allowed)).body).toEqual({ charged: 45, returned: 0, remaining: 15 });
    expect((await settle(two.reservationId, 90, allowed)).body).toEqual({ charged: 55, returned: 0, remaining: 0 });
    expect(await get(two.reservationId)).toMatchObject({ settledCost: 90, charged: 55 });
    expect((await settle(two.reservationId, 90)).body).toEqual({ charged: 55, returned: 0, remaining: 0 });
    expect(await balance(keyId)).toEqual({ remaining: 0, held: undefined });
  });
});

describe('a reservation that has ended', () => {
  test('answers the same again, and nothing else', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    const [first, settledAt] = [await settle(reservationId, 25), at()];
    await service.verify(key);
    service.clock.advance(5);
    expect((await settle(reservationId, 25)).body).toEqual(first.body);
    const how = `The reservation ${reservationId} was settled with 25 at ${settledAt}; it cannot be`;
    expect(refusal(await settle(reservationId, 26))).toEqual([409, 'CONFLICT', `${how} settled with 26.`]);
    expect(refusal(await release(reservationId))).toEqual([409, 'CONFLICT', `${how} released.`]);
    expect(await balance(keyId)).toEqual({ remaining: 74, held: undefined });
  });

  test('by a release answers that again', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    const [first, releasedAt] = [await release(reservationId), at()];
    service.clock.advance(5);
    expect((await release(reservationId)).body).toEqual(first.body);
    expect(refusal(await settle(reservationId, 40))).toEqual([
      409,
      'CONFLICT',
      `The reservation ${reservationId} was released at ${releasedAt}; it cannot be settled with 40.`,
    ]);
  });

  test('by its time gives the credits back at that instant, to verifications and to readers', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId, expiresAt } = await reserved({ key, cost: 60, ttlMs: 1_000 });
    service.clock.advance(999);
    expect(await reserved({ key, cost: 60 })).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 40 });
    service.clock.advance(1);
    expect(await get(reservationId)).toMatchObject({ state: 'expired', endedAt: expiresAt, charged: 0, returned: 60 });
    expect(await balance(keyId)).toEqual({ remaining: 100, held: undefined });
    expect(await reserved({ key, cost: 60 })).toMatchObject({ code: 'VALID', remaining: 40 });
    const how = `The reservation ${reservationId} expired at ${new Date(expiresAt).toISOString()}; it cannot be`;
    expect(refusal(await settle(reservationId, 5))).toEqual([409, 'CONFLICT', `${how} settled with 5.`]);
    expect(refusal(await release(reservationId))).toEqual([409, 'CONFLICT', `${how} released.`]);
    expect(await get(reservationId)).toMatchObject({ state: 'expired', endedAt: expiresAt, charged: 0, returned: 60 });
  });

  test('by its time is charged with onExpiry charge', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 60, ttlMs: 1_000, onExpiry: 'charge' });
    service.clock.advance(1_000);
    const seen = await get(reservationId);
    expect(seen).toMatchObject({ state: 'expired', onExpiry: 'charge', charged: 60, returned: 0 });
    expect(await balance(keyId)).toEqual({ remaining: 40, held: undefined });
    await service.engine.dueCredits.endExpired();
    expect(await get(reservationId)).toEqual(seen);
  });

  test('is ended by the sweep with an event', async () => {
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const { reservationId, expiresAt } = await reserved({ key, cost: 7, ttlMs: 1_000 });
    service.clock.advance(1_000);
    await service.engine.dueCredits.endExpired();
    const { events } = await service.ok('/v1/events.listEvents', { types: ['reservation.expired'] });
    expect(events.at(-1)).toMatchObject({
      type: 'reservation.expired',
      data: { reservationId, keyId, cost: 7, onExpiry: 'release', charged: 0, expiresAt },
    });
  });

  test('is forgotten after three days', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    const { reservationId } = await reserved({ key, cost: 40 });
    await release(reservationId);
    service.clock.advance(3 * 86_400_000 + 1);
    await service.storage.reservations.prune(service.clock.nowMs() - 3 * 86_400_000, 0);
    expect(refusal(await release(reservationId))).toEqual([
      404,
      'NOT_FOUND',
      `There is no reservation "${reservationId}", or this root key may not see it.`,
    ]);
  });
});

test('reservations of a key are listed by state, in pages', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const made: string[] = [];
  for (let i = 0; i < 4; i++) {
    made.push((await reserved({ key, cost: 1, ttlMs: i === 3 ? 1_000 : 60_000 })).reservationId);
    service.clock.advance(1);
  }
  await settle(made[0] ?? '', 1);
  await release(made[1] ?? '');
  service.clock.advance(1_000);
  const ids = async (fields: object): Promise<string[]> =>
    (await service.ok('/v1/reservations.list', { keyId, ...fields })).reservations.map(({ id }: { id: string }) => id);
  expect(await ids({})).toEqual(made);
  for (const [i, state] of ['settled', 'released', 'held', 'expired'].entries()) {
    expect([state, await ids({ state })]).toEqual([state, [made[i] ?? '']]);
  }
  const { reservations, cursor } = await service.ok('/v1/reservations.list', { keyId, limit: 3 });
  expect(reservations.map(({ id }: { id: string }) => id)).toEqual(made.slice(0, 3));
  expect(await ids({ cursor })).toEqual(made.slice(3));
});

test('wrong numbers are refused with what was given', async () => {
  const { key } = await service.createKey({ remaining: 100 });
  const messages = async (fields: object): Promise<[number, string]> => {
    const { status, body } = await reserve({ key, ...fields });
    return [status, body.error.message];
  };
  expect(await messages({ cost: 0 })).toEqual([400, expect.stringContaining('cost must be a whole number from 1 to')]);
  expect(await messages({ cost: 1, ttlMs: 999 })).toEqual([
    400,
    expect.stringContaining('from 1000 to 86400000, got 999'),
  ]);
  expect(await messages({ cost: 1, ttlMs: 86_400_001 })).toEqual([400, expect.stringContaining('got 86400001')]);
  expect(await messages({ cost: 1, onExpiry: 'keep' })).toEqual([400, expect.stringContaining('onExpiry')]);
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const settled = (reservationId: string, cost: number) => service.ok('/v1/reservations.settle', { reservationId, cost });

const released = (reservationId: string) => service.ok('/v1/reservations.release', { reservationId });

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
    await settled(first.body.reservationId, 10);
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
    await settled(one.reservationId, 0);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
    await released(two.reservationId);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'VALID' });
    expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('a window that has ended gets nothing back', async () => {
    const { key } = await service.createKey({ ratelimit: { async: false, limit: 2, duration: HOUR } });
    const { reservationId } = await reserved({ key, cost: 1, ttlMs: 2 * HOUR });
    service.clock.advance(HOUR);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ ratelimit: { remaining: 1 } });
    await released(reservationId);
    expect(await reserved({ key, cost: 1 })).toMatchObject({ ratelimit: { remaining: 0 } });
  });

  test('local ones get nothing back', async () => {
    const { key } = await service.createKey({ ratelimit: { async: true, limit: 1, duration: HOUR } });
    await released((await reserved({ key, cost: 1 })).reservationId);
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
    expect(await settled(reservationId, 10)).toEqual({ charged: 10, returned: 40, remaining: 119 });
    expect(await shown(keyId)).toEqual({ remaining: 119, grants: [{ left: 19, expiresAt: soonMs }] });
    service.clock.advance(HOUR);
    expect(await shown(keyId)).toEqual({ remaining: 100 });
  });

  test('that have expired meanwhile get nothing back', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    await grant(keyId, 30, service.clock.nowMs() + HOUR);
    const { reservationId } = await reserved({ key, cost: 50, ttlMs: 2 * HOUR });
    service.clock.advance(HOUR);
    expect(await settled(reservationId, 10)).toEqual({ charged: 10, returned: 20, remaining: 100 });
    expect(await shown(keyId)).toEqual({ remaining: 100 });
  });
});

test('a refill that is due comes before a settlement, and counts what is held as not spent', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100, refill: { interval: 'daily', amount: 100 } });
  const { reservationId } = await reserved({ key, cost: 30, ttlMs: 24 * HOUR });
  await service.verify(key, { remaining: { cost: 50 } });
  expect(await shown(keyId)).toEqual({ remaining: 20, held: 30 });
  service.clock.advance(12 * HOUR);
  expect(await settled(reservationId, 10)).toEqual({ charged: 10, returned: 20, remaining: 90 });
  expect(await shown(keyId)).toEqual({ remaining: 90 });
});

test('what is metered is held and charged without a balance', async () => {
  const { key, keyId } = await service.createKey({ metered: true });
  const { reservationId, remaining } = await reserved({ key, cost: 40 });
  expect([remaining, await shown(keyId)]).toEqual([undefined, { held: 40 }]);
  expect(await settled(reservationId, 25)).toEqual({ charged: 25, returned: 15 });
});

test('a reservation is durable', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const { reservationId } = await reserved({ key, cost: 40 });
  await service.restart();
  expect(await shown(keyId)).toEqual({ remaining: 60, held: 40 });
  expect(await settled(reservationId, 10)).toEqual({ charged: 10, returned: 30, remaining: 90 });
  await service.restart();
  expect(await settled(reservationId, 10)).toEqual({ charged: 10, returned: 30, remaining: 90 });
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
    await settled(reservationId, 2_750);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([7_250, 9]);
    const all = await reserved(asked);
    await settled(all.reservationId, 4_000);
    expect(await leftOf(key, 'tokens', 'requests')).toEqual([3_250, 8]);
    const undone = await reserved({ ...asked, cost: 3_000, ratelimits: [{ name: 'tokens', cost: 3_000 }] });
    await released(undone.reservationId);
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
    await settled(reservationId, 1);
    expect(await leftOf(key, 'tokens')).toEqual([6_000]);
  });
});

test('a reservation of a deleted key can be settled, and charges nothing', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const { reservationId } = await reserved({ key, cost: 40 });
  await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
  expect(await settled(reservationId, 10)).toEqual({ charged: 0, returned: 0 });
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
  await released(first.reservationId);
  expect(await reserved({ key, cost: 1 })).toMatchObject({ code: 'VALID', remaining: 19_999 });
});

function header(idempotencyKey: string): Record<string, string> {
  return { 'idempotency-key': idempotencyKey };
}
