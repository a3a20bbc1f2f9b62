import { expect, test } from 'bun:test';

import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { until } from '../../tools/cluster/wait.ts';
import { openStorage } from '../support/cluster/faultLab.ts';
import { VirtualClock } from '../support/clock.ts';

/** As often as a node polls at the shortest. */
const INTERVAL_MS = 180;
/** A poll reads the wall clock at most six times: these are ten polls or more. */
const CLOCK_READS = 60;

/** A node on a monotonic clock of the test, and how many transactions have written on its server. */
async function start(server: PostgresServer) {
  const clock = new VirtualClock(1_000_000);
  let clockReads = 0;
  const storage = await openStorage(server.url(), {
    monotonicMs: clock.nowMs,
    nowMs: () => {
      clockReads++;
      return Date.now();
    },
  });
  let notified = 0;
  /** The node polls many times, because it hears of changes. Each notification is a transaction that writes. */
  const pollOften = async (): Promise<void> => {
    const before = clockReads;
    await until('the node has polled', async () => {
      await server.query('NOTIFY keystile_changes');
      notified++;
      return clockReads - before >= CLOCK_READS;
    });
  };
  const written = async (): Promise<number> => {
    const [row] = await server.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next');
    return Number(row?.['next']) - notified;
  };
  return { clock, storage, pollOften, written, [Symbol.asyncDispose]: () => storage.close() };
}

test('where a standby is awaited, a node writes a heartbeat once in a poll interval, however often it polls', async () => {
  await using server = await PostgresServer.start({ settings: { autovacuum: 'off' } });
  await using standby = await server.startStandby('second');
  await server.synchronousWith(['second']);
  await using node = await start(server);
  const { clock, pollOften, written } = node;
  const before = await written();
  for (let beats = 0; beats < 3; beats++) {
    await pollOften();
    expect((await written()) - before).toBe(beats);
    clock.advance(INTERVAL_MS - 1);
    await pollOften();
    expect((await written()) - before).toBe(beats);
    clock.advance(1);
    await until('the heartbeat is written', async () => (await written()) - before === beats + 1);
  }
  expect(standby.port).not.toBe(server.port);
});

test('where none is awaited, nothing is written', async () => {
  await using server = await PostgresServer.start({ settings: { autovacuum: 'off' } });
  await using node = await start(server);
  const before = await node.written();
  for (let i = 0; i < 3; i++) {
    node.clock.advance(10 * INTERVAL_MS);
    await node.pollOften();
    await node.storage.freshness.confirm();
  }
  expect((await node.written()) - before).toBe(0);
});
