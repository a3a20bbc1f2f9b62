import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { DatabaseClock } from '../../support/cluster/databaseClock.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';
import { FaultNode } from '../../support/cluster/faultNode.ts';
import { VirtualClock } from '../../support/clock.ts';

const REFILL = { interval: 'daily', amount: 3 };
const BEFORE = '2026-03-15T23:59:59.998Z';
const AFTER = '2026-03-16T00:00:00.002Z';

let lab: FaultLab;
let database: DatabaseClock;
let node: FaultNode;
const monotonic = new VirtualClock(0);
const keys = new Map<string, { key: string; keyId: string }>();

beforeAll(async () => {
  lab = await FaultLab.start();
  database = await DatabaseClock.on(lab, '2026-03-15T23:59:59.000Z');
  node = await FaultNode.start({
    url: lab.url,
    settings: { KEYSTILE_STALE_MAX: '1d' },
    nowMs: () => 0,
    monotonicMs: monotonic.nowMs,
  });
  for (const name of ['ahead', 'behind', 'behind, with an idempotency key', 'behind, and is changed']) {
    const made = await node.createKey({ remaining: 1, refill: REFILL });
    expect((await node.verify(made.key)).body).toMatchObject({ valid: true, remaining: 0 });
    keys.set(name, made);
  }
  // From here on the node hears the time from spends and changes alone.
  await node.storage.freshness.close();
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await lab[Symbol.asyncDispose]();
});

/** The database's time, and how far the clock of the node is from it. */
async function at(time: string, aheadMs: number): Promise<void> {
  await database.set(time);
  monotonic.advance(Date.parse(time) + aheadMs - node.storage.ledger.nowMs());
  expect(node.storage.ledger.nowMs()).toBe(Date.parse(time) + aheadMs);
}

const keyOf = (name: string) => keys.get(name) ?? { key: '', keyId: '' };

describe('a node whose clock is not quite that of the database, at midnight', () => {
  test('ahead of it: the day is not over', async () => {
    await at(BEFORE, 5);
    expect((await node.verify(keyOf('ahead').key)).body).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
  });

  test('behind it: the day has begun', async () => {
    await at(AFTER, -5);
    expect((await node.verify(keyOf('behind').key)).body).toMatchObject({ valid: true, remaining: 2 });
  });

  test('behind it, with an idempotency key', async () => {
    await at(AFTER, -5);
    const { key } = keyOf('behind, with an idempotency key');
    const answer = await node.verify(key, { idempotencyKey: 'at_midnight' });
    expect(answer.body).toMatchObject({ valid: true, remaining: 2 });
  });

  test('behind it: a change of the credits counts on from the refill', async () => {
    await at(AFTER, -5);
    const { keyId } = keyOf('behind, and is changed');
    const answer = await node.call('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 10 });
    expect([answer.status, answer.body]).toMatchObject([200, { remaining: 13 }]);
  });
});
