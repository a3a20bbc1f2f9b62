import { afterAll, beforeAll, expect, test } from 'bun:test';

import { VirtualClock } from '../../support/clock.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';
import { FaultNode } from '../../support/cluster/faultNode.ts';

/** From when on a silence of the database is told. */
const SILENCE_MS = 3_000;
const HOUR_MS = 3_600_000;

let lab: FaultLab;

beforeAll(async () => {
  lab = await FaultLab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

/** A node on a clock that stands still: however long the test takes, its knowledge is as old as the clock says. */
async function start(settings: Record<string, string>) {
  const clock = new VirtualClock(1_000_000_000);
  const node = await FaultNode.start({ url: lab.url, settings, nowMs: clock.nowMs, monotonicMs: clock.nowMs });
  const limited = await node.createKey({ ratelimit: { async: true, limit: 1_000, duration: 60_000 } });
  const counted = await node.createKey({ remaining: 10 });
  const limitedIs = async () => (await node.verify(limited.key)).status;
  expect([await limitedIs(), (await node.verify(counted.key)).status]).toEqual([200, 200]);
  /** Of both questions, with what the first warns of. */
  const ready = async () => {
    const [memory, exact] = [await node.readiness(), await node.readiness('/v1/readiness?for=exact')];
    return [memory.status, exact.status, String(memory.body['warnings']).includes('The database has not answered')];
  };
  return { node, clock, limitedIs, ready, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

/** An attempt that began before the network was healed can still fail. */
async function confirmed({ storage }: Awaited<ReturnType<typeof start>>['node']): Promise<void> {
  const confirm = (): Promise<unknown> => storage.freshness.confirm();
  await confirm().catch(confirm);
}

test('with a generous KEYSTILE_STALE_MAX a node without its database is ready for what it answers from memory, and not for exact traffic', async () => {
  await using started = await start({ KEYSTILE_STALE_MAX: '1h' });
  const { node, clock, limitedIs, ready } = started;
  lab.proxy.cut();
  expect(await ready()).toEqual([200, 200, false]);
  clock.advance(SILENCE_MS);
  expect(await ready()).toEqual([200, 503, true]);
  expect(await limitedIs()).toBe(200);
  clock.advance(HOUR_MS - SILENCE_MS - 1);
  expect([await limitedIs(), ...(await ready())]).toEqual([200, 200, 503, true]);
  clock.advance(1);
  expect([await limitedIs(), ...(await ready())]).toEqual([503, 503, 503, false]);
  lab.proxy.heal();
  await confirmed(node);
  expect([await limitedIs(), ...(await ready())]).toEqual([200, 200, 200, false]);
});

test('with the usual one it is ready for neither after three seconds', async () => {
  await using started = await start({});
  const { node, clock, limitedIs, ready } = started;
  lab.proxy.cut();
  clock.advance(SILENCE_MS - 1);
  expect(await ready()).toEqual([200, 200, false]);
  clock.advance(1);
  expect(await ready()).toEqual([503, 503, false]);
  expect(await limitedIs()).toBe(503);
  lab.proxy.heal();
  await confirmed(node);
  expect(await ready()).toEqual([200, 200, false]);
});
