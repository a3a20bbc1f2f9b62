import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type Answer, TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const reserve = (fields: object): Promise<Answer> => service.call('/v1/reservations.create', fields);
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
