import { describe, expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode } from '../support/cluster/faultNode.ts';

const STALE_MAX_MS = 1_000;
/** A stale node waits so long for news; a little more for the work around it. */
const MAX_WAIT_MS = 2_000 + 500;
/** The longest pause between two attempts to connect. */
const MAX_PAUSE_MS = 3_000;
const UNAVAILABLE = { status: 503, code: 'UNAVAILABLE', valid: false };

/** A wall clock that a person sets, and a machine that sleeps: then only this clock goes on. */
class WallClock {
  aheadMs = 0;
  readonly nowMs = (): number => Date.now() + this.aheadMs;
}

async function start(settings: Readonly<Record<string, string>> = {}) {
  const lab = await FaultLab.start('&connect_timeout=1');
  const clock = new WallClock();
  const node = await FaultNode.start({ url: lab.url, settings, nowMs: clock.nowMs });
  const made = await node.createKey({});
  expect(await node.verify(made.key)).toMatchObject({ valid: true });
  const end = async (): Promise<void> => {
    lab.proxy.heal();
    await node[Symbol.asyncDispose]();
    await lab[Symbol.asyncDispose]();
  };
  return { lab, clock, node, ...made, freshness: node.storage.freshness, [Symbol.asyncDispose]: end };
}

/** Polls that were answered after the clock was changed: what they confirm is by its new time. */
async function untilPolled({ freshness }: { freshness: FaultNode['storage']['freshness'] }): Promise<void> {
  await freshness.confirm();
  await until('the node is fresh', () => freshness.mayUseCache());
}

describe('a node that hears nothing from the database', () => {
  test.concurrent('answers from memory for a second, then waits up to two and refuses; it goes on with the first news', async () => {
    await using setup = await start();
    const { lab, node, key, freshness } = setup;
    lab.proxy.hang();
    let fromMemory = 0;
    while (freshness.mayUseCache()) {
      const ageMs = freshness.ageMs;
      const answer = await node.verify(key);
      if (ageMs < STALE_MAX_MS - 50) expect(answer).toMatchObject({ valid: true });
      fromMemory++;
      await Bun.sleep(5);
    }
    expect(fromMemory).toBeGreaterThan(10);
    for (let i = 0; i < 2; i++) {
      const startedAt = performance.now();
      const answers = await Promise.all([node.verify(key), node.verify(key), node.verify('an_unknown_key')]);
      expect(performance.now() - startedAt).toBeLessThan(MAX_WAIT_MS);
      for (const answer of answers) expect(answer).toMatchObject(UNAVAILABLE);
    }
    lab.proxy.heal();
    const healedAt = performance.now();
    await until('the node answers', async () => (await node.verify(key)).valid);
    expect(performance.now() - healedAt).toBeLessThan(MAX_PAUSE_MS);
  });

  test.concurrent('and is healed while a request waits: that one is answered', async () => {
    await using setup = await start();
    const { lab, node, key, freshness } = setup;
    lab.proxy.hang();
    await until('the node is stale', () => !freshness.mayUseCache());
    const waiting = node.verify(key);
    lab.proxy.heal();
    expect(await waiting).toMatchObject({ valid: true });
    expect(freshness.mayUseCache()).toBe(true);
  });

  test.concurrent('what was revoked meanwhile is refused from the first answer on', async () => {
    await using setup = await start();
    const { lab, node, key, keyId, freshness } = setup;
    lab.proxy.hang();
    await until('the node is stale', () => !freshness.mayUseCache());
    await lab.query('BEGIN');
    await lab.query('UPDATE keys SET enabled = 0, revision = revision + 1 WHERE id = $1', [keyId]);
    await lab.query('UPDATE change_counter SET number = number + 1');
    await lab.query(`INSERT INTO changes (number, at_ms, keys, root_keys)
      SELECT number, 0, (SELECT array_agg(secret_digest) FROM keys), false FROM change_counter`);
    await lab.query('COMMIT');
    const waiting = node.verify(key);
    lab.proxy.heal();
    expect(await waiting).toMatchObject({ status: 200, code: 'DISABLED' });
  });

  test.concurrent('goes on for an hour where the operator prefers that', async () => {
    await using setup = await start({ KEYSTILE_STALE_MAX: '1h' });
    const { lab, node, key, freshness } = setup;
    lab.proxy.hang();
    await until('it has heard nothing for 3 s', () => freshness.ageMs > 3 * STALE_MAX_MS);
    expect(await node.verify(key)).toMatchObject({ valid: true });
    // What is not in memory has to be asked for.
    lab.proxy.cut();
    expect(await node.verify('an_unknown_key')).toMatchObject(UNAVAILABLE);
  });
});

describe('a wall clock that moves', () => {
  test.concurrent('forward makes the node ask again', async () => {
    await using setup = await start();
    const { lab, clock, node, key, freshness } = setup;
    await untilPolled(setup);
    clock.aheadMs = 10_000;
    expect(freshness.mayUseCache()).toBe(false);
    expect(await node.verify(key)).toMatchObject({ valid: true });
    expect(freshness.mayUseCache()).toBe(true);
    lab.proxy.hang();
    clock.aheadMs = 20_000;
    expect(await node.verify(key)).toMatchObject(UNAVAILABLE);
  });

  test.concurrent('back leaves the node fresh, and stale a second later all the same', async () => {
    await using setup = await start();
    const { lab, clock, freshness } = setup;
    await untilPolled(setup);
    clock.aheadMs = -3_600_000;
    expect(freshness.mayUseCache()).toBe(true);
    lab.proxy.hang();
    await until('the node is stale', () => !freshness.mayUseCache());
    expect(freshness.ageMs).toBeLessThan(2 * STALE_MAX_MS);
  });

  test.concurrent('forward and back does not hide that the machine slept later', async () => {
    await using setup = await start();
    const { clock, freshness } = setup;
    clock.aheadMs = 3_600_000;
    await untilPolled(setup);
    clock.aheadMs = 0;
    await untilPolled(setup);
    // Ten seconds of sleep: the monotonic clock has stood still.
    clock.aheadMs = 10_000;
    expect(freshness.mayUseCache()).toBe(false);
  });
});
