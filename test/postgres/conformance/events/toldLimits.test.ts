import { expect, test } from 'bun:test';

import { PRUNE_GRACE_MS } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, makeKey, toldOf, verify } from './toldEvents.ts';

const MINUTE_MS = 60_000;

function limit(name: string, async: boolean, notify: boolean) {
  return { name, limit: 1, durationMs: MINUTE_MS, async, notify };
}

describePort('events of limits', (setup) => {
  for (const async of [true, false]) {
    test(`a ${async ? 'local' : 'strict'} limit that refuses is told of once in each window, by one of two nodes`, async () => {
      const { storage, clock } = setup();
      const nodes = [engineOn(storage), engineOn(storage)] as const;
      const defaultLimit = limit('default', async, true);
      const { keyId, apiId, secret } = await makeKey(nodes[0], { defaultLimit });
      const use = async () => {
        for (const node of nodes) for (let i = 0; i < 3; i++) await verify(node, secret);
        await Promise.all(nodes.map((node) => node.tellLimits.run()));
      };
      const first = Math.ceil((clock.nowMs() + 1) / MINUTE_MS) * MINUTE_MS;
      await use();
      await use();
      const facts = { type: 'limit.reached', keyId, apiId, name: 'default', limit: 1, duration: MINUTE_MS, async };
      expect(await toldOf(storage, 'limit.reached')).toEqual([{ ...facts, reset: first }]);
      clock.advance(MINUTE_MS);
      await use();
      expect(await toldOf(storage, 'limit.reached')).toEqual([
        { ...facts, reset: first },
        { ...facts, reset: first + MINUTE_MS },
      ]);
    });
  }

  test('limits without notify, and windows that a request made, are not told of', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const limits = { defaultLimit: limit('default', true, false), otherLimits: [limit('a', true, true)] };
    const { secret } = await makeKey(node, limits);
    for (let i = 0; i < 3; i++) {
      await verify(node, secret, { limits: [{ name: 'a', cost: 0 }] });
      await verify(node, secret, { limits: [{ name: 'a', limit: 1, durationMs: 2 * MINUTE_MS }] });
    }
    await node.tellLimits.run();
    expect(await toldOf(storage, 'limit.reached')).toEqual([]);
  });

  test('a limit of an identity, and one of its plan, are told of as its own', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', { otherLimits: [limit('of plan', false, true)] });
    const identityId = await node.identities.create(ACTOR, 'acme', {
      otherLimits: [{ ...limit('own', true, true), limit: 2 }],
    });
    const { secret } = await makeKey(node, { externalId: 'acme' });
    await node.assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    for (const name of ['of plan', 'own']) {
      for (let i = 0; i < 3; i++) await verify(node, secret, { limits: [{ name, cost: 3 }] });
      await node.tellLimits.run();
    }
    const ids = { identityId, externalId: 'acme', planId };
    expect(await toldOf(storage, 'limit.reached')).toMatchObject([
      { ...ids, name: 'of plan', limit: 1, async: false },
      { ...ids, name: 'own', limit: 2, async: true },
    ]);
  });

  test('what was told of a limit is forgotten long after its window', async () => {
    const { storage, clock } = setup();
    const node = engineOn(storage);
    const { secret } = await makeKey(node, { defaultLimit: limit('default', true, true) });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await node.tellLimits.run();
    const window = { kind: 'tellLimit', owner: 'key_1', name: 'default', durationMs: MINUTE_MS, resetAtMs: 5 } as const;
    const tell = async () => (await storage.ledger.apply({ writes: [window], accounts: [] })).status;
    expect([await tell(), await tell()]).toEqual(['done', 'stale']);
    expect(await storage.told.pruneLimits(clock.nowMs() - PRUNE_GRACE_MS)).toBe(true);
    expect([await tell(), await tell()]).toEqual(['done', 'stale']);
  });
});
