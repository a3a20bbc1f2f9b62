import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { MAX_COUNT, MAX_LIVE_GRANTS } from '../../../src/core/bounds.ts';
import { TestService } from '../../support/service.ts';

const HOUR_MS = 3_600_000;
const NOON = '2026-03-15T12:00:00Z';

let service: TestService;
let count = 0;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(() => service.clock.set(NOON));

/** A key with credits of its own, and what is asked of it. */
async function holder(fields: object = { remaining: 10 }) {
  const { apiId, keyId, key } = await service.createKey({ ...fields });
  return {
    apiId,
    keyId,
    spend: (cost: number) => service.verify(key, { remaining: { cost } }),
    grant: (amount: number, more: object = {}) => grant({ keyId, amount, ...more }),
    account: async () => {
      const found = await service.engine.storage.records.findKey(keyId);
      return found === null || 'poisoned' in found ? 0 : (found.key.credits?.account ?? 0);
    },
  };
}

function grant(fields: object): Promise<{ grantId: string; remaining: number; replayed?: boolean }> {
  return service.ok('/v1/credits.grant', { reason: 'a payment', idempotencyKey: `payment-${++count}`, ...fields });
}

async function refused(path: string, body: object): Promise<{ status: number; message: string }> {
  const { status, body: answer } = await service.call(path, body);
  return { status, message: (answer as { error: { message: string } }).error.message };
}

/** All lines of the statement of an account, with the running one as it would be closed now. */
async function linesOf(account: number) {
  const spans = [{ account, fromMs: 0 }];
  const lines = await service.engine.storage.statements.lines({ spans, untilMs: null, after: null, limit: 1_000 });
  return lines.map(({ line }) => line);
}

describe('credits.grant', () => {
  test('adds credits to a key or an identity, once under an idempotency key', async () => {
    const { keyId, spend } = await holder();
    const payment = { amount: 5, reason: 'payment 1', idempotencyKey: 'evt_payment_1' };
    const first = await grant({ keyId, ...payment });
    expect(first).toEqual({ grantId: expect.stringMatching(/^grant_/), remaining: 15 });
    await spend(1);
    expect(await grant({ keyId, ...payment })).toEqual({ ...first, remaining: 14, replayed: true });
    expect(await spend(1)).toMatchObject({ remaining: 13 });
    const externalId = `user-${++count}`;
    const identity = { externalId, remaining: 3 };
    await service.ok('/v1/identities.createIdentity', identity);
    expect((await grant({ externalId, ...payment })).remaining).toBe(8);
  });

  test('many calls with one idempotency key at the same time grant once', async () => {
    const { keyId, spend } = await holder();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => grant({ keyId, amount: 5, idempotencyKey: 'evt_at_once' })),
    );
    expect(new Set(answers.map(({ grantId }) => grantId)).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed !== true).length).toBe(1);
    expect(await spend(0)).toMatchObject({ remaining: 15 });
  });

  test('credits that expire are spent first, soonest expiry first, and are gone at their instant', async () => {
    const { grant: give, spend, keyId } = await holder();
    const now = service.clock.nowMs();
    await give(4, { expiresAt: now + 2 * HOUR_MS });
    await give(3, { expiresAt: now + HOUR_MS });
    expect(await spend(5)).toMatchObject({ remaining: 12 });
    service.clock.advance(HOUR_MS);
    expect(await spend(0)).toMatchObject({ remaining: 12 });
    service.clock.advance(HOUR_MS - 1);
    expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 12 });
    service.clock.advance(1);
    expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 10 });
    expect(await spend(10)).toMatchObject({ valid: true, remaining: 0 });
    expect(await spend(1)).toMatchObject({ valid: false, code: 'USAGE_EXCEEDED' });
  });

  test('an expiry that nobody notices is written down by the sweep', async () => {
    const { grant: give, account } = await holder();
    await give(5, { expiresAt: service.clock.nowMs() + HOUR_MS });
    service.clock.advance(HOUR_MS);
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    const [state] = await service.engine.storage.ledger.read([await account()]);
    expect(state).toMatchObject({ value: 10, dueAtMs: 0 });
    expect(state?.pockets).toBeUndefined();
    expect(await service.engine.dueCredits.sweep()).toBe(0);
  });

  test('a refill restores the own credits; grants are extra and stay', async () => {
    const { grant: give, spend } = await holder({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
    await give(4, { expiresAt: service.clock.nowMs() + 48 * HOUR_MS });
    await spend(6);
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await spend(1)).toMatchObject({ remaining: 9 });
    await give(5, { expiresAt: service.clock.nowMs() + 48 * HOUR_MS });
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await spend(1)).toMatchObject({ remaining: 14 });
  });

  test('every line of the statement adds up, and each begins where the one before ended', async () => {
    const {
      grant: give,
      spend,
      account,
    } = await holder({
      remaining: 10,
      refill: { interval: 'daily', amount: 10, timezone: 'America/New_York' },
    });
    await give(4, { expiresAt: Date.parse('2026-03-15T20:00:00Z') });
    await spend(1);
    service.clock.set('2026-03-15T21:00:00Z');
    await spend(2);
    // Midnight in New York is at 04:00 UTC.
    service.clock.set('2026-03-16T03:00:00Z');
    await spend(3);
    service.clock.set('2026-03-16T05:00:00Z');
    await spend(4);
    service.clock.set('2026-03-20T05:00:00Z');
    await spend(1);
    const [day, midnight] = [Date.parse('2026-03-15T12:00:00Z'), Date.parse('2026-03-15T04:00:00Z')];
    const none = { granted: 0, refilled: 0, adjusted: 0, spent: 0, expired: 0, held: 0 };
    expect(await linesOf(await account())).toEqual([
      {
        ...none,
        startMs: day,
        periodMs: midnight,
        opening: 0,
        adjusted: 10,
        granted: 4,
        spent: 3,
        expired: 3,
        closing: 8,
      },
      { ...none, startMs: Date.parse('2026-03-16T00:00:00Z'), periodMs: midnight, opening: 8, spent: 3, closing: 5 },
      {
        ...none,
        startMs: Date.parse('2026-03-16T04:00:00Z'),
        periodMs: Date.parse('2026-03-16T04:00:00Z'),
        opening: 5,
        refilled: 5,
        spent: 4,
        closing: 6,
      },
      {
        ...none,
        startMs: Date.parse('2026-03-20T04:00:00Z'),
        periodMs: Date.parse('2026-03-20T04:00:00Z'),
        opening: 6,
        refilled: 4,
        closing: 10,
      },
    ]);
  });

  test('bad input changes nothing and says what is wrong', async () => {
    const { keyId, apiId, spend } = await holder();
    const { keyId: unlimited } = await service.createKey({ apiId });
    const call = { amount: 1, reason: 'x', idempotencyKey: 'evt_12345678' };
    await grant({ keyId, ...call });
    const messages: Record<string, string> = {};
    for (const [name, body] of Object.entries({
      nobody: call,
      both: { ...call, keyId, externalId: 'user' },
      unlimited: { ...call, keyId: unlimited },
      past: { ...call, keyId, idempotencyKey: 'evt_of_the_past', expiresAt: service.clock.nowMs() },
      other: { ...call, keyId, amount: 2 },
      tooMany: { ...call, keyId, idempotencyKey: 'evt_too_many', amount: MAX_COUNT },
    })) {
      const { status, message } = await refused('/v1/credits.grant', body);
      messages[name] = `${status} ${message.replace(/grant_\w+/, 'grant_...')}`;
    }
    expect(messages).toEqual({
      nobody: '400 give one of keyId, identityId and externalId',
      both: '400 give one of keyId, identityId and externalId',
      unlimited: `412 The key ${unlimited} has no credits. Set remaining first (keys.updateKey).`,
      past: `400 expiresAt must be in the future, got ${service.clock.nowMs()} (now is ${service.clock.nowMs()}).`,
      other: '409 This idempotency key was used for a grant of 1 (grant_...). Use a new one.',
      tooMany: `412 The key ${keyId} would have more than ${MAX_COUNT} credits.`,
    });
    expect(await spend(0)).toMatchObject({ remaining: 11 });
  });

  test('a holder has a bounded number of grants that have not expired', async () => {
    const { keyId, grant: give, spend } = await holder();
    const expiresAt = service.clock.nowMs() + HOUR_MS;
    for (let i = 0; i < MAX_LIVE_GRANTS; i++) await give(1, { expiresAt });
    const one = { keyId, amount: 1, reason: 'x', expiresAt, idempotencyKey: 'evt_one_more' };
    expect((await refused('/v1/credits.grant', one)).message).toBe(
      `The key ${keyId} has ${MAX_LIVE_GRANTS} grants that have not expired, which is the maximum.`,
    );
    // Those that are spent make room.
    await spend(1);
    expect(await grant({ ...one, idempotencyKey: 'evt_into_the_room' })).toMatchObject({ remaining: 110 });
    service.clock.advance(HOUR_MS);
    expect(await grant({ ...one, expiresAt: expiresAt + HOUR_MS })).toMatchObject({ remaining: 11 });
  });

  test('needs its own right, on the api of the key or on the identity', async () => {
    const { keyId, apiId } = await holder();
    const rootKey = async (...rights: string[]) =>
      (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
    const ask = async (secret: string, path: string, body: object) =>
      (await service.call(path, body, { rootKey: secret })).status;
    const give = { keyId, amount: 1, reason: 'x', idempotencyKey: 'evt_by_right' };
    const take = { keyId, by: -1, reason: 'x' };
    const [granter, adjuster] = [
      await rootKey(`api.${apiId}.grant_credits`),
      await rootKey(`api.${apiId}.adjust_credits`),
    ];
    expect(await ask(granter, '/v1/credits.grant', give)).toBe(200);
    expect(await ask(granter, '/v1/credits.adjust', take)).toBe(403);
    expect(await ask(adjuster, '/v1/credits.adjust', take)).toBe(200);
    expect(await ask(adjuster, '/v1/credits.grant', give)).toBe(403);
    expect(await ask(await rootKey(`api.${apiId}.update_key`), '/v1/credits.grant', give)).toBe(403);
  });
});

describe('credits.adjust', () => {
  test('adds or takes, never below 0, and takes as a spend would', async () => {
    const { keyId, grant: give, spend } = await holder();
    await give(4, { expiresAt: service.clock.nowMs() + HOUR_MS });
    const adjust = (by: number, more: object = {}) =>
      service.ok('/v1/credits.adjust', { keyId, by, reason: 'a mistake', ...more });
    expect(await adjust(-3)).toEqual({ adjustmentId: expect.stringMatching(/^adj_/) as never, remaining: 11 });
    expect(await adjust(2)).toMatchObject({ remaining: 13 });
    service.clock.advance(HOUR_MS);
    expect(await spend(0)).toMatchObject({ remaining: 12 });
    expect(await adjust(-100, { idempotencyKey: 'ticket-1' })).toMatchObject({ remaining: 0 });
    await adjust(5);
    expect(await adjust(-100, { idempotencyKey: 'ticket-1' })).toMatchObject({ remaining: 5, replayed: true });
    const nothing = await refused('/v1/credits.adjust', { keyId, by: 0, reason: 'x' });
    expect(nothing).toEqual({
      status: 400,
      message: 'by must not be 0: send how many credits to add, or a negative number to take some away',
    });
  });

  test('above the maximum it is refused, as a grant is, and adds no part of it; of two at the same time one is made', async () => {
    const { keyId } = await service.createKey({ remaining: MAX_COUNT - 10 });
    const adjust = (by: number) => service.call('/v1/credits.adjust', { keyId, by, reason: 'a mistake' });
    const left = async () => (await service.ok('/v1/keys.getKey', { keyId })).remaining as number;
    const { status, body } = await adjust(11);
    expect([status, body.error.message]).toEqual([412, `The key ${keyId} would have more than ${MAX_COUNT} credits.`]);
    expect(await left()).toBe(MAX_COUNT - 10);
    const grantOf = (by: number) =>
      service.call('/v1/credits.grant', { keyId, amount: by, reason: 'paid', idempotencyKey: 'payment-1' });
    const together = await Promise.all([adjust(6), adjust(6), grantOf(6)]);
    expect(together.map((each) => each.status).toSorted((a, b) => a - b)).toEqual([200, 412, 412]);
    expect(await left()).toBe(MAX_COUNT - 4);
    expect((await adjust(4)).body.remaining).toBe(MAX_COUNT);
    expect((await adjust(-MAX_COUNT)).body.remaining).toBe(0);
  });

  test('what a reservation holds counts for the maximum: it can come back', async () => {
    const { keyId, key } = await service.createKey({ remaining: MAX_COUNT });
    const { reservationId } = await service.ok('/v1/reservations.create', { key, cost: 100 });
    const over = await refused('/v1/credits.adjust', { keyId, by: 1, reason: 'x' });
    expect(over.status).toBe(412);
    await service.ok('/v1/reservations.release', { reservationId });
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(MAX_COUNT);
  });
});
