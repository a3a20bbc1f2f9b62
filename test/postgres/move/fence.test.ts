import { expect, test } from 'bun:test';

import { Client } from 'pg';

import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { Connector } from '../../../src/storage/postgres/connection/connector.ts';
import { ConnectionLost } from '../../../src/storage/postgres/connection/databaseError.ts';
import { LedgerClock } from '../../../src/storage/postgres/connection/ledgerClock.ts';
import { MOVED, TAKE_MOVE_LOCKS } from '../../../src/storage/postgres/connection/movedFence.ts';
import { Committer } from '../../../src/storage/postgres/ledger/committer.ts';
import { DatabaseHold } from '../../../src/storage/postgres/move/databaseHold.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { sharedServer } from '../../support/cluster/faultLab.ts';
import { open } from '../conformance/postgres.ts';
import { credits, spendOf } from '../conformance/samples.ts';
import { KeystileNode } from '../../../tools/cluster/node.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { PROGRAM, runToEnd, TempFolder } from '../../process/process.ts';
import { onDatabase } from './moved.ts';

const NOTE = `{"exportId":"export_1","atMs":0}`;
const CLAIM = { webhookId: 'wh_1', limit: 1, lease: 'lease', nowMs: 1, leaseMs: 1 };
const failure = (error: unknown): string => String(error);

/** A node, and the name of its database, in which no node is seen. */
async function setup() {
  const server = await sharedServer();
  const url = await server.createDatabase();
  const storage = await open(url, { nowMs: () => 0 });
  const name = new URL(url).pathname.slice(1);
  await server.query('UPDATE nodes SET seen_at_ms = 0', name);
  return { server, url, storage, name };
}

test('a spend, a change and a claim of deliveries that begin while the move commits wait for it, and are refused', async () => {
  const { server, url, storage, name } = await setup();
  const move = new Client(url);
  await move.connect();
  await move.query(`BEGIN; ${TAKE_MOVE_LOCKS}; INSERT INTO installation VALUES ('moved', '${NOTE}')`);
  const spent = Promise.resolve(storage.ledger.spend(spendOf(credits(1, 1)))).catch(failure);
  const changed = storage.ledger.apply({ writes: [], accounts: [] }).catch(failure);
  const claimed = storage.webhooks.claim(CLAIM).catch(failure);
  const waiting = `SELECT count(DISTINCT pid)::int AS waiting FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE NOT l.granted AND a.datname = '${name}'`;
  await until('all wait', async () => (await server.query(waiting, name))[0]?.['waiting'] === 3);
  await move.query('COMMIT');
  await move.end();
  for (const each of [spent, changed, claimed]) expect(await each).toBe(`StorageUnavailable: ${MOVED}`);
  await storage.close();
});

test('a node that slept through a move claims no delivery, and goes on after a release', async () => {
  const { server, url, storage, name } = await setup();
  const hold = await DatabaseHold.take(url, { exportId: 'export_1', atMs: 0 });
  expect(await storage.webhooks.claim(CLAIM).catch(failure)).toBe(`StorageUnavailable: ${MOVED}`);
  const inTransaction = `SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = '${name}' AND state LIKE 'idle in transaction%'`;
  expect(await server.query(inTransaction, name)).toEqual([{ open: 0 }]);
  await hold.close();
  expect(await storage.webhooks.claim(CLAIM)).toEqual([]);
  await storage.close();
});

test.each(['finished', 'failed'])(
  'a batch whose answer was lost before a move that %s is unknown, and not told as undone',
  async (end) => {
    const { url, storage } = await setup();
    const clock = new LedgerClock({ monotonicMs: () => performance.now(), wallClockMs: () => 0 }, true);
    const options = { clock, random: Math.random, monotonicMs: () => performance.now() };
    const [committer] = Committer.share(new Connector(parseAddress(url), 'paused'), 1, options);
    const lost = {
      size: 1,
      read: () => [],
      // It was done. Then the node was paused, and its connection broke.
      async ask(client: Client, { committer: id, number }: { committer: number; number: number }): Promise<string> {
        await client.query('SELECT ledger_note_v1($1, $2, $3, 0)', [id, number, '{}']);
        const hold = await DatabaseHold.take(url, { exportId: 'export_1', atMs: 0 });
        if (end === 'finished') await hold.finish();
        await hold.close();
        throw new ConnectionLost('it was paused');
      },
    };
    expect(await committer?.run(lost, 'never').catch(failure)).toBe(
      'StorageOutcomeUnknown: The database did not confirm whether this was done (its answer is no longer there, as after an export with --move).',
    );
    // A node that spends nothing hears of the move as well.
    if (end === 'finished') await until('the node is not ready', () => storage.ledger.commitFailure === MOVED);
    await committer?.close();
    await storage.close();
  },
);

const REFUSAL =
  'The database was exported with --move: nothing is spent or changed in it. Try again: the new service will answer. To use this database again, run keystile data release.';

test('a node that was paused during a move spends and changes nothing, and a failed second move leaves the first in force', async () => {
  using folder = new TempFolder();
  const server = await sharedServer();
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const environment = onDatabase(url);
  const move = () => keystile(['data', 'export', folder.join('moved'), '--move', '--force'], { environment });
  const note = async () =>
    (await server.query("SELECT value FROM installation WHERE name = 'moved'", name))[0]?.['value'];
  {
    await using node = await KeystileNode.start({ location: 'eu', databaseUrl: url });
    const { apiId } = (await node.call('/v1/apis.createApi', { name: 'any' })).body;
    const { key } = (await node.call('/v1/keys.createKey', { apiId, remaining: 9 })).body;
    const spend = () => node.verify({ key });
    expect((await spend()).body).toMatchObject({ valid: true, remaining: 8 });

    node.pause();
    // As if it had been paused for long.
    await server.query('UPDATE nodes SET seen_at_ms = 0', name);
    expect((await move()).code).toBe(0);
    const first = await note();
    node.resume();

    const refused = { status: 503, body: { error: { code: 'UNAVAILABLE', message: REFUSAL } } };
    expect(await spend()).toMatchObject(refused);
    expect(await node.call('/v1/reservations.create', { key, cost: 1 })).toMatchObject(refused);
    expect(await node.call('/v1/apis.createApi', { name: 'too late' })).toMatchObject(refused);
    await until('it is not ready', async () => (await fetch(`${node.url}/v1/readiness`)).status === 503);
    expect(await (await fetch(`${node.url}/v1/readiness`)).json()).toMatchObject({ ready: false, reasons: [REFUSAL] });
    await until('its log says so', () => node.child.stderr.includes(REFUSAL) || node.child.stdout.includes(REFUSAL));

    const seen = 'SELECT id FROM nodes WHERE seen_at_ms > 0';
    await until('it is seen', async () => (await server.query(seen, name)).length === 1);
    expect((await move()).err).toStartWith('The node node_');
    expect(await note()).toBe(first);

    expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
    expect((await spend()).body).toMatchObject({ valid: true, remaining: 7 });
    expect((await node.call('/v1/apis.createApi', { name: 'in time' })).status).toBe(200);
    await node.stop();
  }
  expect((await move()).code).toBe(0);
  const last = await note();
  const limited = `trap '' XFSZ; ulimit -f 1; exec "$@"`;
  const words = ['data', 'export', folder.join('full'), '--move'];
  const full = await runToEnd({
    command: ['sh', '-c', limited, 'sh', ...PROGRAM, ...words],
    settings: { ...environment },
  });
  expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('was not made (EFBIG')]);
  expect(await note()).toBe(last);
  const started = await runToEnd({ settings: { KEYSTILE_DATABASE_URL: url } });
  expect([started.code, started.stderr]).toEqual([78, expect.stringContaining('was exported with --move at ')]);
});
