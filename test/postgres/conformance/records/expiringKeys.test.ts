import { expect, test } from 'bun:test';

import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';

const HOUR_MS = 3_600_000;
const ACTOR = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };

async function told(storage: Storage): Promise<[keyId: string, expires: number][]> {
  const events = await storage.events.list({ after: 0, types: ['key.expiring'], limit: 1000 });
  return events.map(({ data }) => {
    const { keyId, expires } = JSON.parse(data) as { keyId: string; expires: number };
    return [keyId, expires];
  });
}

describePort('keys that expire', (setup) => {
  test('each is told of once for each expiry, as early as it or its identity says, by one of two nodes', async () => {
    const { storage, clock } = setup();
    const [one, two] = [engineOn(storage), engineOn(storage)];
    const sweep = async () => {
      await Promise.all([one.expiringKeys.run(), two.expiringKeys.run()]);
    };
    const expiresAtMs = clock.nowMs() + 10 * HOUR_MS;
    const { id: apiId } = await one.apis.create(ACTOR, 'an api');
    const create = async (fields: object) =>
      (await one.keys.create(ACTOR, { apiId, prefix: null, byteLength: null, ...fields })).keyId;
    await one.identities.create(ACTOR, 'acme', { alerts: { expiresWithinMs: 5 * HOUR_MS } });
    const own = await create({ expiresAtMs, alerts: { expiresWithinMs: 2 * HOUR_MS }, remaining: 5 });
    const ofIdentity = await create({ expiresAtMs, externalId: 'acme' });
    const both = await create({ expiresAtMs, externalId: 'acme', alerts: { expiresWithinMs: HOUR_MS } });
    const gone = await create({ expiresAtMs, alerts: { expiresWithinMs: 9 * HOUR_MS } });
    await create({ expiresAtMs });
    await create({ alerts: { expiresWithinMs: 9 * HOUR_MS } });
    await one.deleteKey.delete(ACTOR, gone, false);

    clock.advance(5 * HOUR_MS - 1);
    await sweep();
    expect(await told(storage)).toEqual([]);
    clock.advance(1);
    await sweep();
    expect(await told(storage)).toEqual([[ofIdentity, expiresAtMs]]);
    clock.advance(3 * HOUR_MS);
    await sweep();
    await sweep();
    expect(await told(storage)).toEqual([
      [ofIdentity, expiresAtMs],
      [own, expiresAtMs],
    ]);
    // Another change says nothing of the expiry; another expiry is told of anew. The balance is as it was.
    await one.keys.update(ACTOR, own, { name: 'other' });
    await sweep();
    await one.keys.update(ACTOR, own, { expiresAtMs: expiresAtMs + HOUR_MS });
    clock.advance(HOUR_MS);
    await sweep();
    expect(new Map((await told(storage)).slice(2))).toEqual(
      new Map([
        [own, expiresAtMs + HOUR_MS],
        [both, expiresAtMs],
      ]),
    );
    expect((await one.keys.get(ACTOR, own)).remaining).toBe(5);
    // Of what expired long ago nothing is told, even when someone asks for it now.
    clock.advance(8 * 24 * HOUR_MS);
    const before = (await told(storage)).length;
    await one.keys.update(ACTOR, own, { expiresAtMs, alerts: { expiresWithinMs: HOUR_MS } });
    await sweep();
    expect((await told(storage)).length).toBe(before);
  });

  test('the alerts of a plan hold for keys where neither the key nor its identity says when', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const expiresAtMs = clock.nowMs() + 10 * HOUR_MS;
    const { id: apiId } = await engine.apis.create(ACTOR, 'an api');
    const planId = await engine.plans.create(ACTOR, 'pro', { alerts: { expiresWithinMs: 5 * HOUR_MS } });
    await engine.identities.create(ACTOR, 'own', { alerts: { expiresWithinMs: HOUR_MS } });
    const keys = new Map<string, string>();
    for (const externalId of ['own', 'none']) {
      const { keyId } = await engine.keys.create(ACTOR, {
        apiId,
        prefix: null,
        byteLength: null,
        expiresAtMs,
        externalId,
        remaining: 5,
        alerts: { creditsBelow: 1 },
      });
      keys.set(externalId, keyId);
      await engine.assignPlan.assign(ACTOR, { holder: { externalId }, planId, when: 'now', balance: 'keep' });
    }
    const holder = { apiId, prefix: null, byteLength: null, expiresAtMs };
    const { keyId } = await engine.keys.create(ACTOR, holder);
    await engine.assignPlan.assign(ACTOR, { holder: { keyId }, planId, when: 'now', balance: 'keep' });
    clock.advance(5 * HOUR_MS);
    await engine.expiringKeys.run();
    const ids = (await told(storage)).map(([id]) => id);
    expect(ids.toSorted()).toEqual([keys.get('none') ?? '', keyId].toSorted());
    clock.advance(4 * HOUR_MS);
    await engine.expiringKeys.run();
    expect((await told(storage)).slice(2)).toEqual([[keys.get('own') ?? '', expiresAtMs]]);
  });

  test('a start that comes late tells of all, more than one step can take', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const { id: apiId } = await engine.apis.create(ACTOR, 'an api');
    const expiresAtMs = clock.nowMs() + HOUR_MS;
    const fields = { apiId, prefix: null, byteLength: null, expiresAtMs, alerts: { expiresWithinMs: HOUR_MS } };
    const made = await Promise.all(Array.from({ length: 205 }, () => engine.keys.create(ACTOR, fields)));
    clock.advance(24 * HOUR_MS);
    await engine.expiringKeys.run();
    const ids = (await told(storage)).map(([keyId]) => keyId);
    expect(ids.toSorted()).toEqual(made.map(({ keyId }) => keyId).toSorted());
  });
});
