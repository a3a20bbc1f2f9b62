import { describe, expect, test } from 'bun:test';

import { KeystileNode } from '../../tools/cluster/node.ts';
import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { until } from '../../tools/cluster/wait.ts';
import { WrongServer } from '../../src/storage/postgres/connection/wrongServer.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { FaultPair, firstOf } from '../support/cluster/faultPair.ts';
import { openCounters, openStorage } from '../support/cluster/faultLab.ts';
import { credits, spendOf } from '../postgres/conformance/samples.ts';

const CRASHES = 7;
const SPENDS = 50;

/** What an administrator may do to a server that nodes are connected to. */
async function alter(server: PostgresServer, ...settings: readonly string[]): Promise<void> {
  for (const setting of settings) await server.query(`ALTER SYSTEM ${setting}`);
  await server.query('SELECT pg_reload_conf()');
}

async function spendAll({ ledger }: PostgresStorage, account: number): Promise<number> {
  let left = NaN;
  for (let i = 0; i < SPENDS; i++) {
    const outcome = await Promise.resolve(ledger.spend(spendOf(credits(account, 1))));
    if (outcome.status !== 'taken') throw new Error(outcome.status);
    left = outcome.charges[0]?.left ?? NaN;
  }
  return left;
}

async function crash(server: PostgresServer): Promise<void> {
  await server.stop('immediate');
  await server.restart();
}

test(`synchronous_commit is turned off under a running node: ${CRASHES} crashes lose no spend that was answered`, async () => {
  // Whatever was not flushed by the commit itself is lost.
  await using server = await PostgresServer.start({ settings: { wal_writer_delay: '10s', autovacuum: 'off' } });
  const storage = await openStorage(server.url());
  try {
    const [account = 0] = await openCounters(storage, 1, CRASHES * SPENDS);
    const lost: number[] = [];
    for (let i = 0; i < CRASHES; i++) {
      if (i === 0) await alter(server, 'SET synchronous_commit = off');
      // For the connections after the first crash.
      else await server.query('ALTER ROLE postgres SET synchronous_commit = off');
      await until('the node is connected', () =>
        storage.ledger.read([account]).then(
          () => true,
          () => false,
        ),
      );
      const left = await spendAll(storage, account);
      await crash(server);
      const [row] = await server.query(`SELECT value FROM accounts WHERE id = ${account}`);
      lost.push(Number(row?.['value']) - left);
    }
    expect(lost).toEqual(Array.from({ length: CRASHES }, () => 0));
  } finally {
    await storage.close();
  }
});

test('a stronger synchronous_commit than needed is kept', async () => {
  await using pair = await FaultPair.start();
  await alter(pair.primary, 'SET synchronous_commit = remote_apply');
  const storage = await pair.open('applying');
  try {
    const [account = 0] = await openCounters(storage, 1, SPENDS);
    // From here on the standby has everything on its disk, and shows none of it.
    await pair.standby.query('SELECT pg_wal_replay_pause()');
    const spend = Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
    const first = await firstOf(spend, pair.untilWaiting('applying', `query LIKE '%ledger_%'`));
    await pair.standby.query('SELECT pg_wal_replay_resume()');
    expect(first).toBe('event');
    expect(await spend).toMatchObject({ status: 'taken' });
  } finally {
    await storage.close();
  }
});

describe('a server that does not flush what it reports', () => {
  test('is refused, with the setting and what to do', async () => {
    await using server = await PostgresServer.start();
    const refused = await openStorage(server.url(), { allowFsyncOff: false }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WrongServer);
    expect(String(refused)).toMatch(/fsync = off.* Set fsync = on .*KEYSTILE_ALLOW_FSYNC_OFF=on/);
  });

  test('while a node runs: not ready, in the log and in the metrics, until it is mended', async () => {
    await using server = await PostgresServer.start({ durable: true });
    const settings = { KEYSTILE_ALLOW_FSYNC_OFF: 'off', KEYSTILE_LOG_LEVEL: 'info' };
    await using node = await KeystileNode.start({ databaseUrl: server.url(), location: 'here', settings });
    const metricsAt = / metrics on (\S+)/.exec(node.child.stdout)?.[1] ?? '';
    const metrics = async () => (await fetch(`http://${metricsAt}/metrics`)).text();
    const readiness = async () => (await fetch(`${node.url}/v1/readiness`)).json();
    expect(await readiness()).toEqual({ ready: true, reasons: [], warnings: [] });
    await alter(server, 'SET fsync = off', 'SET full_page_writes = off');
    const [reasons, warnings] = [
      [expect.stringContaining('fsync = off')],
      [expect.stringContaining('full_page_writes = off')],
    ];
    const told = ['the database is not safe', 'the database is less safe than it could be'];
    await until('the log tells both', () => told.every((line) => node.child.stderr.includes(line)));
    expect(await readiness()).toEqual({ ready: false, reasons, warnings });
    expect(await metrics()).toMatch(/durability\{setting="fsync"\} 0\n.*durability\{setting="full_page_writes"\} 0\n/);
    await alter(server, 'RESET fsync', 'RESET full_page_writes');
    await until('the log tells', () => node.child.stderr.split('a problem of the database has ended').length === 3);
    expect(await readiness()).toEqual({ ready: true, reasons: [], warnings: [] });
    expect(await metrics()).toMatch(/durability\{setting="fsync"\} 1\n.*durability\{setting="full_page_writes"\} 1\n/);
  });
});
