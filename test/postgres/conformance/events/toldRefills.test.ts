import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, DAY_MS, makeKey, toldOf, verify } from './toldEvents.ts';

const DAILY = {
  interval: 'daily',
  amount: 5,
  refillDay: null,
  refillWeekday: null,
  timezone: null,
  mode: 'add',
  max: null,
} as const;

describePort('events of refills', (setup) => {
  test('each refill is told of once, by one of two nodes, whether a verification or the sweep has written it', async () => {
    const { storage, clock } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const tell = () => Promise.all(nodes.map((node) => node.tellRefills.run()));
    const used = await makeKey(nodes[0], { remaining: 5, refill: DAILY, externalId: 'acme' });
    const idle = await makeKey(nodes[0], { remaining: 1, refill: DAILY });
    const planId = await nodes[0].plans.create(ACTOR, 'pro', { remaining: 7, refill: DAILY });
    await nodes[0].assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    await nodes[0].dueCredits.sweep();
    await tell();
    expect(await toldOf(storage, 'credits.refilled')).toEqual([]);
    clock.advance(DAY_MS);
    const refilledAt = clock.nowMs() - (clock.nowMs() % DAY_MS);
    await verify(nodes[1], used.secret, { creditCost: 2 });
    await nodes[1].dueCredits.sweep();
    for (let i = 0; i < 3; i++) await tell();
    const identity = await storage.records.findIdentity('acme');
    const all = await toldOf(storage, 'credits.refilled');
    const fact = { type: 'credits.refilled', refilled: 5, refilledAt };
    const { apiId } = used;
    expect(all.toSorted((a, b) => Number(a['remaining']) - Number(b['remaining']))).toEqual([
      { ...fact, keyId: idle.keyId, apiId: idle.apiId, remaining: 6 },
      { ...fact, keyId: used.keyId, apiId, externalId: 'acme', remaining: 10 },
      { ...fact, identityId: identity?.id, externalId: 'acme', planId, remaining: 12 },
    ]);
    await nodes[0].deleteKey.delete(ACTOR, idle.keyId, false);
    clock.advance(DAY_MS);
    await nodes[0].dueCredits.sweep();
    for (let i = 0; i < 3; i++) await tell();
    expect((await toldOf(storage, 'credits.refilled')).length).toBe(5);
    expect(await storage.told.untoldRefills(10)).toEqual([]);
  });

  test('more refills than fit into one step are told of in one run', async () => {
    const { storage, clock } = setup();
    const node = engineOn(storage);
    const { id: apiId } = await node.apis.create(ACTOR, 'an api');
    const key = { apiId, prefix: null, byteLength: null, remaining: 0, refill: DAILY };
    await node.keys.createMany(
      ACTOR,
      Array.from({ length: 205 }, () => key),
    );
    clock.advance(DAY_MS);
    await node.dueCredits.sweep();
    await node.tellRefills.run();
    expect((await toldOf(storage, 'credits.refilled')).length).toBe(205);
  });
});
