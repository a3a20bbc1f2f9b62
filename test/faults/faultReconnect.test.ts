import { expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { StorageUnavailable } from '../../src/storage/port/storage.ts';
import { parseAddress } from '../../src/core/databaseUrl.ts';
import { Connector } from '../../src/storage/postgres/connection/connector.ts';
import { Session } from '../../src/storage/postgres/connection/session.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { VirtualClock } from '../support/clock.ts';

test('a connection that was made again is tried for at once when it is lost, and then after the shortest pause', async () => {
  await using lab = await FaultLab.start();
  const clock = new VirtualClock(0);
  const session = new Session(new Connector(parseAddress(lab.url), 'node'), {
    settings: {},
    timeoutMs: 60_000,
    random: () => 0.5,
    monotonicMs: clock.nowMs,
  });
  for (let round = 0; round < 2; round++) {
    await session.client();
    lab.proxy.cut();
    await until('the loss is noticed', () => !session.isOpen);
    expect(session.pauseMs).toBe(0);
    for (const pauseMs of [50, 100, 200]) {
      expect(await session.client().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
      expect(session.pauseMs).toBe(pauseMs);
      clock.advance(pauseMs);
    }
    lab.proxy.heal();
  }
  await session.close();
});

test('a process of the server that has the number of one given up is left alone', async () => {
  await using lab = await FaultLab.start();
  const connector = new Connector(parseAddress(lab.url), 'node');
  const options = { settings: {}, timeoutMs: 60_000, random: () => 0.5, monotonicMs: new VirtualClock(0).nowMs };
  const [dropping, other] = [new Session(connector, options), new Session(connector, options)];
  const isAlive = async (pid: number) =>
    (await lab.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).length === 1;
  const [given, kept] = [await dropping.client(), await other.client()];
  const [left, reused] = [connector.backendOf(given), connector.backendOf(kept)];
  if (left === null || reused === null) throw new Error('no process');
  // The number now belongs to another session of the same node, as after a failover to a server whose numbers are as small.
  const own = connector.backendOf.bind(connector);
  connector.backendOf = (client) => (client === given ? { ...left, pid: reused.pid } : own(client));
  dropping.drop(given, 'test');
  await dropping.client();
  expect(await isAlive(reused.pid)).toBe(true);
  expect((await other.query<{ pid: number }>(() => ({ text: 'SELECT pg_backend_pid() AS pid' }))).rows).toEqual([
    { pid: reused.pid },
  ]);
  // With its own number it is ended.
  const [again, hung] = [await dropping.client(), await lab.client()];
  const pid = connector.backendOf(again)?.pid ?? 0;
  await hung.query('SELECT pg_advisory_lock(1)');
  again.query('SELECT pg_advisory_lock(1)').catch(() => {});
  await until('it waits', async () => {
    const rows = await lab.query(`SELECT 1 FROM pg_locks WHERE pid = $1 AND NOT granted`, [pid]);
    return rows.length === 1;
  });
  dropping.drop(again, 'test');
  await dropping.client();
  await until('it has gone', async () => !(await isAlive(pid)));
  await Promise.all([dropping.close(), other.close()]);
});
