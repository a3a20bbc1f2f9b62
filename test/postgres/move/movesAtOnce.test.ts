import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import { Client } from 'pg';

import { DatabaseHold, releaseMoved } from '../../../src/storage/postgres/move/databaseHold.ts';
import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { failingMove } from '../../process/move/failingMove.ts';
import { Child, PROGRAM, TempFolder } from '../../process/process.ts';
import { stoppedDatabase } from './moved.ts';

const message = (error: unknown): string => (error as Error).message;
const noteOf = (exportId: string) => ({ exportId, atMs: 0 });
const HELD = 'The export is not whole, and the service does not start until you run keystile data release.\n';

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
