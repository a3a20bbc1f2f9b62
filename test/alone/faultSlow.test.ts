import { describe, expect, test } from 'bun:test';

import type { Client } from 'pg';

import { until } from '../../tools/cluster/wait.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../support/cluster/faultNode.ts';
import { VirtualClock } from '../support/clock.ts';

/** Lookups that may wait, and the connections that they have. */
const MAX_LOOKUPS = 10_000;
const LOOKUP_CONNECTIONS = 2;
/** Connections of management, and who may wait for them. */
const POOL = 2;
const MAX_WAITING = 5;
/** Lookups that wait for so long make a node not ready, and so long it says so when they do not any more. */
const STUCK_MS = 2_000;
const SHOW_FAILURE_MS = 3_000;
/** How long a statement may wait for a lock. */
const LOCK_TIMEOUT_MS = 3_000;
const YEAR_MS = 366 * 86_400_000;
const LIMIT = 1_000;
const READY = { status: 200, body: { ready: true, reasons: [] } };

/** A node, a key that it has in memory, and someone who can keep the table of keys to himself. */
async function start() {
  const stack = new AsyncDisposableStack();
  const lab = stack.use(await FaultLab.start());
  const clock = new VirtualClock(0);
  const settings = { KEYSTILE_DATABASE_POOL: String(POOL), KEYSTILE_MAX_WAITING: String(MAX_WAITING) };
  const node = stack.use(await FaultNode.start({ url: lab.url, settings, monotonicMs: clock.nowMs }));
  const known = await node.createKey({ ratelimit: { async: true, limit: LIMIT, duration: YEAR_MS } });
  expect(await node.verify(known.key)).toMatchObject({ valid: true });
  const holder = await lab.client();
  return { lab, clock, node, known, holder, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function lockKeys(holder: Client): Promise<void> {
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE keys IN ACCESS EXCLUSIVE MODE');
}

/** So many questions of the node wait for the lock. */
function untilWaiting(lab: FaultLab, count: number): Promise<void> {
  return until(`${count} wait for the lock`, async () => {
    const [row] = await lab.query(`SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE application_name LIKE '${lab.database} %' AND wait_event_type = 'Lock'`);
    return row?.['waiting'] === count;
  });
}

const refusalOf = ({ status, code, headers }: NodeAnswer) => [status, code, headers.get('retry-after')];
const EXACT = '/v1/readiness?for=exact';
const REFUSED = [503, 'UNAVAILABLE', '1'];

describe('a database that is slow to answer', () => {
  test.concurrent('lookups: one more than may wait is refused at once, known keys are answered, the rest when it answers again', async () => {
    await using setup = await start();
    const { lab, clock, node, known, holder } = setup;
    const { keyCache } = node.composed.service.engine.memory;
    await lockKeys(holder);
    const lookups = Array.from({ length: MAX_LOOKUPS }, (_, i) => keyCache.lookUp(`digest ${i}`));
    await untilWaiting(lab, LOOKUP_CONNECTIONS);
    for (let i = 0; i < 3; i++) expect(refusalOf(await node.verify(`unknown_${i}`))).toEqual(REFUSED);
    for (let i = 0; i < 10; i++) {
      expect((await node.verify(known.key)).body).toMatchObject({
        valid: true,
        ratelimit: { remaining: LIMIT - 2 - i },
      });
    }
    expect(keyCache.lookupsWaiting).toBe(MAX_LOOKUPS);
    clock.advance(STUCK_MS - 1);
    expect(await node.readiness()).toMatchObject(READY);
    clock.advance(1);
    const reason = 'The database does not answer lookups of keys.';
    expect(await node.readiness(EXACT)).toMatchObject({ status: 503, body: { ready: false, reasons: [reason] } });
    // Known keys are answered.
    const { status, body } = await node.readiness();
    expect([status, body['warnings']]).toEqual([200, expect.arrayContaining([expect.stringContaining(reason)])]);
    await holder.query('COMMIT');
    expect(new Set(await Promise.all(lookups))).toEqual(new Set([null]));
    expect(await node.verify('unknown_0')).toMatchObject({ status: 200, code: 'NOT_FOUND' });
    clock.advance(SHOW_FAILURE_MS - 1);
    expect((await node.readiness(EXACT)).status).toBe(503);
    clock.advance(1);
    await node.storage.freshness.confirm();
    expect(await node.readiness(EXACT)).toMatchObject(READY);
  });

  test.concurrent('for too long: all lookups end with the first that ran out of time, not one time limit after the other', async () => {
    await using setup = await start();
    const { lab, node, known, holder } = setup;
    await lockKeys(holder);
    const startedAtMs = performance.now();
    const lookups = Array.from({ length: 3_000 }, (_, i) => node.verify(`unknown_${i}`));
    await untilWaiting(lab, LOOKUP_CONNECTIONS);
    for (const answer of await Promise.all(lookups)) expect(refusalOf(answer)).toEqual(REFUSED);
    expect(performance.now() - startedAtMs).toBeLessThan(2 * LOCK_TIMEOUT_MS);
    await holder.query('COMMIT');
    expect(await node.verify('unknown_0')).toMatchObject({ status: 200, code: 'NOT_FOUND' });
    expect(await node.verify(known.key)).toMatchObject({ valid: true });
  });

  test.concurrent('management: one more than may wait is refused at once, the rest is done when it answers again', async () => {
    await using setup = await start();
    const { lab, node, known, holder } = setup;
    await lockKeys(holder);
    const ended: NodeAnswer[] = [];
    const asked = Array.from({ length: 20 }, async () => {
      const answer = await node.call('/v1/keys.getKey', { keyId: known.keyId });
      ended.push(answer);
      return answer;
    });
    await untilWaiting(lab, POOL);
    await until('those above the bound have ended', () => ended.length === asked.length - POOL - MAX_WAITING);
    expect(ended.map(refusalOf)).toEqual(ended.map(() => REFUSED));
    const refused = [...ended];
    expect(await node.verify(known.key)).toMatchObject({ valid: true });
    await holder.query('COMMIT');
    const others = (await Promise.all(asked)).filter((answer) => !refused.includes(answer));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
  });
});
