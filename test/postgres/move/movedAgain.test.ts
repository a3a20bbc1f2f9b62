import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';

import { Client } from 'pg';

import { DatabaseHold } from '../../../src/storage/postgres/move/databaseHold.ts';
import { PostgresDataSource } from '../../../src/storage/postgres/move/readData.ts';
import { TcpProxy } from '../../../tools/cluster/proxy.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { failingMove } from '../../process/move/failingMove.ts';
import { Child, PROGRAM, TempFolder } from '../../process/process.ts';
import { stoppedDatabase } from './moved.ts';

const FIRST = { exportId: 'export_1', atMs: 0 };
const ALREADY =
  'An earlier export with --move has already moved the service. Run keystile data release only if that export is not used.\n';
const MAYBE =
  'The service may refuse to start. Run keystile data release before you start it, unless an earlier export with --move is used.\n';
const HELD = 'The export is not whole, and the service does not start until you run keystile data release.\n';

type Stopped = Awaited<ReturnType<typeof stoppedDatabase>>;

/** An earlier move that is whole, or that was killed: in both cases its note is there. */
async function moveBefore({ url, cutAll }: Stopped, end: 'whole' | 'killed'): Promise<void> {
  const earlier = await DatabaseHold.take(url, FIRST);
  expect(earlier.wasMoved).toBe(false);
  if (end === 'killed') await cutAll();
  else await earlier.finish();
  await earlier.close().catch(() => {});
}

test.each(['whole', 'killed'] as const)(
  'a move of a database that an earlier move (%s) holds, and that fails, leaves the earlier hold and says what a release would risk',
  async (end) => {
    const database = await stoppedDatabase();
    await moveBefore(database, end);
    const closed = 'The export was not written: standard output was closed (EPIPE).';
    expect(await failingMove(database.environment, async () => true)).toEqual({ failure: closed, shown: [ALREADY] });
    expect(await database.note()).toBe(JSON.stringify(FIRST));
    // Without a connection it cannot let go of anything.
    const lost = await failingMove(database.environment, async () => (await database.cutAll()).length > 0);
    expect(lost).toEqual({ failure: closed, shown: [ALREADY] });
    expect(await database.note()).toBe(JSON.stringify(FIRST));
    // Now there may be two exports that someone uses.
    const atTrailer = await failingMove(database.environment, async (text) => text.startsWith('{"rows":'));
    expect(atTrailer.shown).toEqual([
      'An earlier export with --move has already moved the service. Run keystile data release only if neither that export nor the import at the other end of the pipe is used.\n',
    ]);
  },
);

test('a move that loses the database says that it is held, and gives one order: to run it again', async () => {
  const { environment, cutAll } = await stoppedDatabase();
  const { failure, shown } = await failingMove(environment, async () => (await cutAll()).length === 0);
  expect(failure).toMatch(
    /^The connection to the database was lost \(.+\)\. Nothing is left of the export\. Run the command again\.$/,
  );
  expect(shown).toEqual([HELD]);
});

/** A move that waits for a table that another session has locked. */
async function waitingMove({ url, environment, query }: Stopped, table: string, target: string) {
  const blocking = new Client(url);
  await blocking.connect();
  await blocking.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const child = new Child({
    command: [...PROGRAM, 'data', 'export', target, '--move'],
    settings: { ...environment },
  });
  const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`;
  await until('it waits', async () => (await query(waiting))[0]?.['count'] === 1);
  const stop = async (): Promise<unknown> => {
    child.signal('SIGINT');
    const answer = [await child.exited(), child.stderr];
    await blocking.end();
    return answer;
  };
  return { child, stop };
}

test('a second move that is stopped by Ctrl-C does not tell to release what the first one has moved', async () => {
  const database = await stoppedDatabase();
  await moveBefore(database, 'whole');
  const { child, stop } = await waitingMove(database, 'apis', '-');
  await using _ = child;
  expect(await stop()).toEqual([130, ALREADY]);
});

test('a move that is stopped by Ctrl-C while it takes the hold says that the database may be held', async () => {
  const database = await stoppedDatabase();
  const { child, stop } = await waitingMove(database, 'committers', '-');
  await using _ = child;
  expect(await stop()).toEqual([130, MAYBE]);
});

test('a move that loses its connection while it takes the hold does not tell to release what an earlier one has moved', async () => {
  const { url, query } = await stoppedDatabase();
  const blocking = new Client(url);
  await blocking.connect();
  await blocking.query('BEGIN; LOCK TABLE committers IN ACCESS EXCLUSIVE MODE');
  const taken = DatabaseHold.take(url, FIRST).then(() => 'held', String);
  const cutWaiting =
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'committers'::regclass";
  await until('it waits', async () => (await query(cutWaiting)).length === 1);
  expect(await taken).toMatch(
    /^StorageUnavailable: The connection to the database was lost \(.+\)\. Run the command again\. Or run keystile data release before you start a node, unless an earlier export with --move is used\.$/,
  );
  await blocking.end();
});

test('a move does not wait for ever for a database that does not let it go', async () => {
  const { url } = await stoppedDatabase();
  const hold = await DatabaseHold.take(url, FIRST);
  const blocking = new Client(url);
  await blocking.connect();
  await blocking.query('BEGIN; LOCK TABLE installation IN ACCESS EXCLUSIVE MODE');
  expect(await hold.close(100).catch(String)).toBe('ConnectionLost: no answer in 100 ms');
  await blocking.end();
});

test('a source that is silent is left, however it was read', async () => {
  const { url } = await stoppedDatabase();
  using network = TcpProxy.start({ target: Number(new URL(url).port) });
  const source = await PostgresDataSource.open(Object.assign(new URL(url), { host: network.hostPort }).href);
  network.hang();
  expect(await source.close(100)).toBeUndefined();
});

test('a move that is stopped by Ctrl-C says that the database is held, also when its files cannot be removed', async () => {
  using folder = new TempFolder();
  const database = await stoppedDatabase();
  mkdirSync(folder.join('own'));
  const { child, stop } = await waitingMove(database, 'apis', folder.join('own', 'export'));
  await using _ = child;
  expect(readdirSync(folder.join('own'))).toEqual([`export.partial-${child.pid}`]);
  // What was a folder is a file now.
  renameSync(folder.join('own'), folder.join('away'));
  writeFileSync(folder.join('own'), '');
  expect(await stop()).toEqual([130, HELD]);
});
