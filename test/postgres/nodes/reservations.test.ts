import { afterAll, beforeAll, expect, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { Setup } from '../../support/cluster/clusterSetup.ts';

let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start({ locations: ['eu', 'us'] });
});

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
});

const reserve = (node: number, body: object): Promise<Record<string, unknown>> =>
  setup.ok(node, '/v1/reservations.create', body);
const balance = async (node: number, keyId: string): Promise<object> => {
  const { remaining, held = 0 } = await setup.ok(node, '/v1/keys.getKey', { keyId });
  return { remaining, held };
};

test('what one node has reserved is settled by the other', async () => {
  const { key, keyId } = await setup.createKey({ remaining: 100 });
  const { reservationId } = await reserve(0, { key, cost: 40 });
  expect(await balance(1, keyId)).toEqual({ remaining: 60, held: 40 });
  const asked = { reservationId, cost: 25 };
  const settled = { charged: 25, returned: 15, remaining: 75 };
  expect(await setup.ok(1, '/v1/reservations.settle', asked)).toEqual(settled);
  expect(await setup.ok(0, '/v1/reservations.settle', asked)).toEqual(settled);
  expect(await balance(0, keyId)).toEqual({ remaining: 75, held: 0 });
});

test('two nodes reserve and spend at once: never more than there is, and all of it', async () => {
  const { key, keyId } = await setup.createKey({ remaining: 100 });
  const asked = Array.from({ length: 15 }, (_, i) => [
    reserve(i % 2, { key, cost: 7 }),
    setup.ok((i + 1) % 2, '/v1/keys.verifyKey', { key, remaining: { cost: 3 } }),
  ]).flat();
  const answers = await Promise.all(asked);
  const held = answers.filter(({ reservationId }) => reservationId !== undefined).length * 7;
  const spent = answers.filter(({ valid, reservationId }) => valid === true && reservationId === undefined).length * 3;
  expect(await balance(1, keyId)).toEqual({ remaining: 100 - held - spent, held });
  expect(100 - held - spent).toBeLessThan(7);
});

test('one idempotency key through both nodes is one reservation', async () => {
  for (const credits of [{ remaining: 100 }, {}]) {
    const { key } = await setup.createKey(credits);
    const asked = { key, cost: 40, idempotencyKey: 'call-4711' };
    const answers = await Promise.all([0, 1, 0, 1].map((node) => reserve(node, asked)));
    expect(new Set(answers.map(({ reservationId }) => reservationId)).size).toBe(1);
  }
});

test('a settlement and a release at two nodes at once: one of them is done', async () => {
  const { key, keyId } = await setup.createKey({ remaining: 100 });
  for (let round = 0; round < 5; round++) {
    const { reservationId } = await reserve(0, { key, cost: 10 });
    const answers = await Promise.all([
      setup.node(0).call('/v1/reservations.settle', { reservationId, cost: 10 }),
      setup.node(1).call('/v1/reservations.release', { reservationId }),
    ]);
    const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
    expect([done?.status, ...others.map(({ status }) => status)]).toEqual([200, 409]);
    const charged = (done?.body as { charged: number } | undefined)?.charged ?? NaN;
    await setup.ok(0, '/v1/keys.updateRemaining', { keyId, op: 'increment', value: charged });
    expect(await balance(1, keyId)).toEqual({ remaining: 100, held: 0 });
  }
});

test('a node that dies loses nothing: what it has reserved expires on the other', async () => {
  const { key, keyId } = await setup.createKey({ remaining: 100 });
  const [short, long] = [await reserve(1, { key, cost: 30, ttlMs: 1_000 }), await reserve(1, { key, cost: 40 })];
  await setup.node(1).kill();
  expect(await setup.ok(0, '/v1/reservations.get', { reservationId: long.reservationId })).toMatchObject({
    state: 'held',
  });
  await until('the short one has expired', async () => {
    const { state } = await setup.ok(0, '/v1/reservations.get', { reservationId: short.reservationId });
    return state === 'expired';
  });
  expect(await balance(0, keyId)).toEqual({ remaining: 60, held: 40 });
  await setup.startAgain(1);
  const asked = { reservationId: long.reservationId, cost: 5 };
  expect(await setup.ok(1, '/v1/reservations.settle', asked)).toEqual({ charged: 5, returned: 35, remaining: 95 });
});
