import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { Keystile } from '../../sdk/src/index.ts';
import { TestService } from '../support/service.ts';
import { answer, error, type Move, patience, ScriptedServer } from './scriptedServer.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.close());

const keystile = (rootKey: string | null = service.rootKey): Keystile =>
  new Keystile({
    url: 'https://keystile.test',
    retries: 0,
    fetch: async (url, { body }) => {
      const { status, text } = await service.call(new URL(url).pathname, undefined, { raw: body as string, rootKey });
      return new Response(text, { status });
    },
  });

const balance = async (keyId: string): Promise<object> => {
  const { remaining, held = 0 } = await service.ok('/v1/keys.getKey', { keyId });
  return { remaining, held };
};

describe('a reservation in a block', () => {
  test('that is settled is charged, and not released at its end', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    {
      await using reservation = await keystile().reserve(key, { cost: 40, tags: ['model=large'] });
      expect([reservation.verdict.code, reservation.expiresAt]).toEqual(['VALID', service.clock.nowMs() + 600_000]);
      expect(await reservation.settle(25)).toEqual({ charged: 25, returned: 15, remaining: 75 });
      expect(await reservation.settle(25)).toEqual({ charged: 25, returned: 15, remaining: 75 });
    }
    expect(await balance(keyId)).toEqual({ remaining: 75, held: 0 });
  });

  test('that throws is released at its end', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const call = async (): Promise<void> => {
      await using _reservation = await keystile().reserve(key, { cost: 40 });
      expect(await balance(keyId)).toEqual({ remaining: 60, held: 40 });
      throw new Error('the model failed');
    };
    expect(await call().catch(String)).toBe('Error: the model failed');
    expect(await balance(keyId)).toEqual({ remaining: 100, held: 0 });
  });

  test('that closes it in finally is the same, where there is no `await using`', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    for (const [cost, remaining] of [
      [25, 75],
      [null, 75],
    ] as const) {
      const reservation = await keystile().reserve(key, { cost: 40 });
      try {
        if (cost !== null) await reservation.settle(cost);
      } finally {
        await reservation.close();
      }
      expect(await balance(keyId)).toEqual({ remaining, held: 0 });
    }
  });

  test('whose settlement fails stays held: the call has happened', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    const call = async (): Promise<void> => {
      await using reservation = await keystile().reserve(key, { cost: 40, ttlMs: 1_000, onExpiry: 'charge' });
      await reservation.settle(41);
    };
    expect(await call().catch(String)).toContain('holds 40 and cannot be settled with 41');
    expect(await balance(keyId)).toEqual({ remaining: 60, held: 40 });
    service.clock.advance(1_000);
    expect(await balance(keyId)).toEqual({ remaining: 60, held: 0 });
  });

  test('that is settled with more takes the difference when that is allowed', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    await using reservation = await keystile().reserve(key, { cost: 40 });
    expect(await reservation.settle(50, { allowOverage: true })).toEqual({ charged: 50, returned: 0, remaining: 50 });
  });

  test('that is refused holds nothing, and has nothing to settle', async () => {
    const { key } = await service.createKey({ remaining: 10 });
    for (const [text, code] of [
      [key, 'USAGE_EXCEEDED'],
      ['', 'NOT_FOUND'],
    ] as const) {
      await using reservation = await keystile().reserve(text, { cost: 40 });
      expect([reservation.verdict.code, reservation.id, await reservation.settle(5)]).toEqual([code, undefined, null]);
    }
  });

  test('that cannot be released at its end throws nothing', async () => {
    const { key, keyId } = await service.createKey({ remaining: 100 });
    {
      await using reservation = await keystile(null).reserve(key, { cost: 40 });
      expect(reservation.verdict.valid).toBe(true);
    }
    expect(await balance(keyId)).toEqual({ remaining: 60, held: 40 });
  });
});

test('the group reservations has every call', async () => {
  const { key, keyId } = await service.createKey({ remaining: 100 });
  const { reservations } = keystile();
  const { reservationId = '' } = await reservations.create({ key, cost: 40 });
  expect(await reservations.get({ reservationId })).toMatchObject({ id: reservationId, state: 'held' });
  expect(await reservations.release({ reservationId })).toEqual({ charged: 0, returned: 40, remaining: 100 });
  expect(await Array.fromAsync(reservations.list({ keyId, limit: 1 }))).toMatchObject([{ state: 'released' }]);
});

describe('when an answer is lost', () => {
  const HELD = { valid: true, code: 'VALID', requestId: 'req_1', keyId: 'key_1', meta: {}, reservationId: 'rsv_1' };
  const LOST: readonly Move[] = ['silence', 'cut', error(503, 'OUTCOME_UNKNOWN')];

  test.concurrent.each(LOST)(
    'a reservation is tried again under one idempotency key, and its end too (%#)',
    async (move) => {
      const ended = answer(200, { charged: 1, returned: 0 });
      await using server = await ScriptedServer.start(move, answer(200, HELD), move, ended);
      const client = new Keystile({ url: server.url, rootKey: 'root_1', ...patience([move]) });
      await using reservation = await client.reserve('k', { cost: 1 });
      expect([reservation.id, await reservation.settle(1)]).toEqual(['rsv_1', { charged: 1, returned: 0 }]);
      const keys = server.received.map(({ body }) => (JSON.parse(body) as { idempotencyKey?: string }).idempotencyKey);
      expect(keys.length).toBe(4);
      expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
      expect(keys[1]).toBe(keys[0] as string);
      expect(server.received.map(({ path }) => path.replace('/v1/reservations.', ''))).toEqual([
        'create',
        'create',
        'settle',
        'settle',
      ]);
    },
  );

  test('for good, the policy decides whether the call passes, and nothing is settled', async () => {
    const client = new Keystile({ url: 'http://127.0.0.1:1', rootKey: 'root_1', onUnavailable: 'allow', retries: 0 });
    await using reservation = await client.reserve('k', { cost: 1 });
    expect([reservation.verdict.code, reservation.verdict.valid]).toEqual(['UNAVAILABLE', true]);
    expect(await reservation.settle(1)).toBeNull();
  });
});
