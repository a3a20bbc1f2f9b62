import { expect, test } from 'bun:test';

import type { Engine } from '../../../../src/engine/engine.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, DAY_MS, makeKey, toldOf, verify } from './toldEvents.ts';
import { newReservation } from '../samples.ts';

const DAILY = {
  interval: 'daily',
  amount: 5,
  refillDay: null,
  refillWeekday: null,
  timezone: null,
  mode: 'restore',
  max: null,
} as const;

const LOW = 'credits.low';
const EXHAUSTED = 'credits.exhausted';

function toldPort({ told }: Storage): Storage['told'] {
  return {
    credits: (accounts) => told.credits(accounts),
    recheck: (after, count) => told.recheck(after, count),
    untoldRefills: (limit) => told.untoldRefills(limit),
    pruneLimits: (endedBeforeMs) => told.pruneLimits(endedBeforeMs),
  };
}

describePort('events of credits', (setup) => {
  const told = async (): Promise<unknown[]> =>
    (await toldOf(setup().storage, LOW, EXHAUSTED)).map(({ type, remaining }) => [type, remaining]);

  test('a balance that falls below its threshold, and then to 0, is told of once each, by one of two nodes', async () => {
    const { storage } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const { keyId, apiId, secret } = await makeKey(nodes[0], { remaining: 5, alerts: { creditsBelow: 3 } });
    const spend = async () => {
      for (const node of nodes) await verify(node, secret);
      await Promise.all(nodes.map((node) => node.tellCredits.run()));
    };
    await spend();
    expect(await told()).toEqual([]);
    await spend();
    expect(await toldOf(storage, LOW, EXHAUSTED)).toEqual([{ type: LOW, keyId, apiId, remaining: 1, threshold: 3 }]);
    await spend();
    await spend();
    await Promise.all(nodes.map((node) => node.tellCredits.recheck()));
    expect((await toldOf(storage, LOW, EXHAUSTED)).slice(1)).toEqual([{ type: EXHAUSTED, keyId, apiId, remaining: 0 }]);
  });

  test('without a threshold only the end of the credits is told of', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret } = await makeKey(node, { remaining: 2 });
    for (let i = 0; i < 3; i++) {
      await verify(node, secret);
      await node.tellCredits.run();
    }
    expect(await told()).toEqual([[EXHAUSTED, 0]]);
  });

  test('of what is metered nothing is told, and of the credits of its identity as ever', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    await node.identities.create(ACTOR, 'acme', { remaining: 1 });
    const { secret } = await makeKey(node, { metered: true, externalId: 'acme' });
    const alone = await makeKey(node, { metered: true });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await verify(node, alone.secret);
    await node.tellCredits.run();
    await node.tellCredits.recheck();
    expect(await toldOf(storage, LOW, EXHAUSTED)).toMatchObject([
      { type: EXHAUSTED, externalId: 'acme', remaining: 0 },
    ]);
  });

  test('a balance that was raised to its threshold is told of again, and one that stayed below it is not', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { keyId, secret } = await makeKey(node, { remaining: 3, alerts: { creditsBelow: 3 } });
    const spend = async (creditCost: number) => {
      await verify(node, secret, { creditCost });
      await node.tellCredits.run();
    };
    const add = (value: number) => node.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value });
    await spend(3);
    expect(await told()).toEqual([
      [LOW, 0],
      [EXHAUSTED, 0],
    ]);
    await add(2);
    await spend(1);
    expect((await told()).length).toBe(2);
    await spend(1);
    expect((await told()).slice(2)).toEqual([[EXHAUSTED, 0]]);
    await add(3);
    await spend(1);
    expect((await told()).slice(3)).toEqual([[LOW, 2]]);
  });

  test('a refill and the next exhaustion in the same second are told of once each', async () => {
    const { storage, clock } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const { secret } = await makeKey(nodes[0], { remaining: 5, refill: DAILY, alerts: { creditsBelow: 2 } });
    const tell = () => Promise.all(nodes.flatMap((node) => [node.tellCredits.run(), node.tellRefills.run()]));
    const use = async (node: Engine) => {
      expect((await verify(node, secret, { creditCost: 5 })).code).toBe('VALID');
      expect((await verify(node, secret)).code).toBe('USAGE_EXCEEDED');
    };
    await use(nodes[0]);
    await tell();
    const first = [
      [LOW, 0],
      [EXHAUSTED, 0],
    ];
    expect(await told()).toEqual(first);
    clock.advance(DAY_MS);
    await use(nodes[1]);
    expect((await verify(nodes[0], secret)).code).toBe('USAGE_EXCEEDED');
    await tell();
    await tell();
    await Promise.all(nodes.map((node) => node.tellCredits.recheck()));
    expect(await told()).toEqual([...first, ...first]);
    expect(await toldOf(storage, 'credits.refilled')).toMatchObject([{ refilled: 5, remaining: 5 }]);
  });

  test('a request that costs more than is left is told of once, and the last credit apart from it', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId } = await makeKey(node, { remaining: 3 });
    const ask = async (creditCost: number) => {
      await verify(node, secret, { creditCost });
      await node.tellCredits.run();
    };
    await ask(5);
    await ask(1e15);
    expect(await told()).toEqual([[EXHAUSTED, 3]]);
    await ask(3);
    await ask(1);
    expect(await told()).toEqual([
      [EXHAUSTED, 3],
      [EXHAUSTED, 0],
    ]);
    await node.keys.updateRemaining(ACTOR, keyId, { op: 'set', value: 1 });
    await ask(5);
    expect((await told()).slice(2)).toEqual([[EXHAUSTED, 1]]);
  });

  test('what has risen before it could be told is not told', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId } = await makeKey(node, { remaining: 3, alerts: { creditsBelow: 3 } });
    await verify(node, secret, { creditCost: 3 });
    await node.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value: 3 });
    await node.tellCredits.run();
    await node.tellCredits.recheck();
    expect(await told()).toEqual([]);
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([[LOW, 2]]);
  });

  test('a balance that rises while it is being told of is not told of, and is told of when it falls again', async () => {
    const { storage } = setup();
    const other = engineOn(storage);
    const { secret, keyId } = await makeKey(other, { remaining: 3, alerts: { creditsBelow: 3 } });
    let reads = 0;
    const credits = async (accounts: readonly number[]) => {
      const rows = await storage.told.credits(accounts);
      // The second read comes after the balance was read.
      if (++reads === 2) await other.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value: 3 });
      return rows;
    };
    const slow = { ...toldPort(storage), credits };
    const node = engineOn(Object.create(storage, { told: { value: slow } }) as Storage);
    await verify(node, secret);
    await node.tellCredits.run();
    await node.tellCredits.run();
    expect([reads > 2, await told()]).toEqual([true, []]);
    await verify(node, secret, { creditCost: 3 });
    await node.tellCredits.run();
    expect(await told()).toEqual([[LOW, 2]]);
  });

  test('what a node could not tell before it was killed is told after the restart', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const used = await makeKey(node, { remaining: 2 });
    const low = await makeKey(node, { remaining: 9, alerts: { creditsBelow: 9 } });
    await makeKey(node, { remaining: 0 });
    await makeKey(node, { remaining: 9 });
    await verify(node, used.secret, { creditCost: 2 });
    await verify(node, low.secret);
    const after = await setup().afterCrash();
    const next = engineOn(after);
    await next.tellCredits.run();
    expect(await toldOf(after, LOW, EXHAUSTED)).toEqual([]);
    await next.tellCredits.recheck();
    await next.tellCredits.recheck();
    const found = await toldOf(after, LOW, EXHAUSTED);
    expect(found.toSorted((a, b) => Number(a['remaining']) - Number(b['remaining']))).toMatchObject([
      { type: EXHAUSTED, keyId: used.keyId, remaining: 0 },
      { type: LOW, keyId: low.keyId, remaining: 8 },
    ]);
  });

  test('an identity is told of under its own threshold, or that of its plan, with its external id and its plan', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', { remaining: 5, alerts: { creditsBelow: 4 } });
    const { secret } = await makeKey(node, { externalId: 'acme' });
    await node.assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    const spend = async () => {
      await verify(node, secret);
      await node.tellCredits.run();
    };
    await spend();
    expect(await told()).toEqual([]);
    await spend();
    const found = await storage.records.findIdentity('acme');
    expect(await toldOf(storage, LOW)).toEqual([
      { type: LOW, identityId: found?.id, externalId: 'acme', planId, remaining: 3, threshold: 4 },
    ]);
    await node.identities.update(ACTOR, { externalId: 'acme' }, { alerts: { creditsBelow: 3 } });
    await spend();
    expect(await toldOf(storage, LOW)).toMatchObject([{ threshold: 4 }, { remaining: 2, threshold: 3 }]);
    // Back to the threshold of the plan, of which was told already.
    await node.identities.update(ACTOR, { externalId: 'acme' }, { alerts: { creditsBelow: null } });
    await spend();
    await node.tellCredits.recheck();
    expect((await told()).length).toBe(2);
  });

  test('a key that is on a plan itself has the threshold and the limits of the plan', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', {
      remaining: 3,
      alerts: { creditsBelow: 3 },
      otherLimits: [{ name: 'a', limit: 1, durationMs: 60_000, async: true, notify: true }],
    });
    const { keyId, apiId, secret } = await makeKey(node, {});
    await node.assignPlan.assign(ACTOR, { holder: { keyId }, planId, when: 'now', balance: 'keep' });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await node.tellLimits.run();
    await node.tellCredits.recheck();
    expect(await toldOf(storage, LOW, 'limit.reached')).toMatchObject([
      { type: 'limit.reached', keyId, apiId, planId, name: 'a' },
      { type: LOW, keyId, apiId, planId, remaining: 2, threshold: 3 },
    ]);
    await verify(node, secret);
    await node.tellCredits.run();
    expect((await told()).length).toBe(1);
  });

  test('credits that a reservation gives back are told of again when they are used up', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId, apiId } = await makeKey(node, { remaining: 2 });
    const account = (await node.keys.get(ACTOR, keyId)).key.credits?.account ?? 0;
    const revision = (await node.keys.get(ACTOR, keyId)).key.revision;
    const rule = { kind: 'credits', refill: null } as const;
    const held = await storage.ledger.reserve(
      { charges: [{ account, amount: 1, rule, revision }], fences: [], idempotency: null },
      newReservation('res_1', { keyId, apiId }),
    );
    expect(held.reservation?.state).toBe('held');
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([[EXHAUSTED, 0]]);
    await storage.ledger.endReservation('res_1', { kind: 'release' });
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([
      [EXHAUSTED, 0],
      [EXHAUSTED, 0],
    ]);
  });
});
