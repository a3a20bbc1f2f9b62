import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, renameSync, writeFileSync, rmSync } from 'node:fs';

import { Client } from 'pg';

import { DatabaseHold, releaseMoved } from '../../../src/storage/postgres/move/databaseHold.ts';
import { PostgresDataSource } from '../../../src/storage/postgres/move.ts';
import { TcpProxy } from '../../../tools/cluster/proxy.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { failingMove } from '../../process/move/failingMove.ts';
import { Child, PROGRAM, TempFolder } from '../../process/process.ts';
import { stoppedDatabase } from './moved.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { TestService } from '../../support/service.ts';
import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';

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

const MOVED = 'The service was moved, and does not start again. ';

const FIRST_TOLD = `${MOVED}Import the data and start the new service, or go back with keystile data release.\n`;

const SECOND_TOLD = `${MOVED}An earlier export with --move had already moved it. If that one was finished too, use only one of the two: both have the same credits. Run keystile data release only if neither is used.\n`;

/** Two moves of the same source, one after the other, that both succeed. */
async function expectTold(environment: Readonly<Record<string, string>>): Promise<void> {
  using folder = new TempFolder();
  const move = (file: string, ...flags: string[]) =>
    keystile(['data', 'export', folder.join(file), ...flags], { environment });
  expect(await move('first', '--move')).toMatchObject({ code: 0, err: FIRST_TOLD });
  const second = await move('second', '--move', '--json');
  expect(second).toMatchObject({ code: 0, err: SECOND_TOLD });
  expect(JSON.parse(second.out)).toMatchObject({ wasMoved: true });
  // A copy moves nothing.
  expect(JSON.parse((await move('copy', '--json')).out)).not.toHaveProperty('wasMoved');
  expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
  const afterRelease = await move('third', '--move', '--json');
  expect(afterRelease.err).toBe(FIRST_TOLD);
  expect(JSON.parse(afterRelease.out)).toMatchObject({ wasMoved: false });
}

test('the second move of a stopped service says that there are two exports, of which one may be used', async () => {
  const service = await TestService.start();
  await service.stop();
  await expectTold({ KEYSTILE_DATA: service.folder });
  rmSync(service.folder, { recursive: true });
});

test('the second move of a database says that there are two exports, of which one may be used', async () => {
  await expectTold((await stoppedDatabase()).environment);
});

const message = (error: unknown): string => (error as Error).message;
const noteOf = (exportId: string) => ({ exportId, atMs: 0 });

test('while a move from PostgreSQL runs, a second one and a release are refused, and its note stays', async () => {
  using folder = new TempFolder();
  const { url, environment, query, note, installation } = await stoppedDatabase();
  const hold = await DatabaseHold.take(url, noteOf('export_1'));
  const [second, released] = await Promise.all([
    keystile(['data', 'export', folder.join('second'), '--move'], { environment }),
    keystile(['data', 'release', '--yes'], { environment }),
  ]);
  expect([second, released]).toEqual([
    { code: 1, out: '', err: 'Another export with --move is running. Wait until it ends, or stop it.\n' },
    { code: 1, out: '', err: 'An export with --move is running on this database. Stop it first.\n' },
  ]);
  expect(readdirSync(folder.path)).toEqual([]);
  expect(await note()).toBe(JSON.stringify(noteOf('export_1')));
  await hold.finish();
  await hold.close();
  expect(await note()).toBe(JSON.stringify(noteOf('export_1')));
  expect([await releaseMoved(url, 7), await releaseMoved(url, 8)]).toEqual([true, false]);
  expect(await query('SELECT at_ms::int, actor, action, target FROM audit_entries')).toEqual([
    { at_ms: 7, actor: 'cli', action: 'installation.release', target: await installation() },
  ]);
});

test('a move that fails removes its own note; a later one whose note is gone does not finish', async () => {
  const { url, query, note } = await stoppedDatabase();
  const failed = await DatabaseHold.take(url, noteOf('export_1'));
  await failed.close();
  expect(await note()).toBeUndefined();
  const hold = await DatabaseHold.take(url, noteOf('export_2'));
  await query("DELETE FROM installation WHERE name = 'moved'");
  expect(await hold.finish().catch(message)).toBe('The database is no longer held by this export. Run it again.');
  await hold.close();
});

test('a move that has lost its connection does not finish, and takes nothing from the move after it', async () => {
  const { url, note, cutAll } = await stoppedDatabase();
  const lost = await DatabaseHold.take(url, noteOf('export_1'));
  await cutAll();
  const next = await DatabaseHold.take(url, noteOf('export_2'));
  expect(await note()).toBe(JSON.stringify(noteOf('export_1')));
  expect(await lost.finish().catch(message)).toStartWith('The connection to the database was lost (');
  await next.finish();
  expect(await lost.close().catch(() => 'it could not remove its note')).toBe('it could not remove its note');
  await next.close();
  expect(await note()).toBe(JSON.stringify(noteOf('export_2')));
});

test('a database of another schema version is refused before it is held', async () => {
  const { url, query, note } = await stoppedDatabase();
  await query("UPDATE installation SET value = '0' WHERE name = 'schema_version'");
  expect(await DatabaseHold.take(url, noteOf('export_1')).catch(message)).toBe(
    `The database has schema version 0, and this program exports version ${SCHEMA_VERSION}. Use the program of its nodes.`,
  );
  expect(await note()).toBeUndefined();
});

test('a move that fails and cannot remove its note tells its first failure, and that the database is held', async () => {
  const { environment, note, cutAll } = await stoppedDatabase();
  const { failure, shown } = await failingMove(environment, async () => {
    await cutAll();
    return true;
  });
  expect(failure).toBe('The export was not written: standard output was closed (EPIPE).');
  expect(shown).toEqual([HELD]);
  expect(await note()).toBeString();
});

test.each(['file', '-'])('a move to %s that is stopped by Ctrl-C says that the database is held', async (target) => {
  using folder = new TempFolder();
  const { url, environment, query } = await stoppedDatabase();
  // The move waits for the first table that it copies.
  const blocking = new Client(url);
  await blocking.connect();
  await blocking.query('BEGIN; LOCK TABLE apis IN ACCESS EXCLUSIVE MODE');
  const command = [...PROGRAM, 'data', 'export', target === '-' ? '-' : folder.join(target), '--move'];
  await using child = new Child({ command, settings: { ...environment } });
  const waiting = "SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'apis'::regclass";
  await until('it copies', async () => (await query(waiting))[0]?.['count'] === 1);
  child.signal('SIGINT');
  expect([await child.exited(), child.stderr]).toEqual([130, HELD]);
  expect(readdirSync(folder.path)).toEqual([]);
  await blocking.end();
  expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
});
