import type { Client } from 'pg';

import { GONE_AFTER_MS } from '../../../core/health.ts';
import { DataError } from '../../sql/move/dataError.ts';
import { findUseRefusal, IMPORT_NOTE, MOVED_NOTE, type MovedNote } from '../../sql/move/importedNote.ts';
import { TAKE_MOVE_LOCKS } from '../connection/movedFence.ts';
import { WrongServer } from '../connection/wrongServer.ts';
import { readInstallation, takeMigrationLock } from '../schema/migrate.ts';
import { openForData, orExplain } from './openForData.ts';

/** Refuses a database whose import is not finished, or that was moved away. */
export function refuseUnusable(known: ReadonlyMap<string, string>): void {
  const refusal = findUseRefusal('The database', known);
  if (refusal !== null) throw new WrongServer(refusal.text);
}

export async function putNote(client: Client, name: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}

const CHECK_ADVICE = 'Check KEYSTILE_DATABASE_URL, and run the command again.';

/** A statement waits no longer for nodes that have begun something. */
const LOCK_TIMEOUT_MS = 5_000;

/** From now on no node starts, spends or changes anything. Refused while one runs. A note of an earlier move stays as it is. */
export function markMoved(url: string, note: MovedNote): Promise<void> {
  return withClient(url, (client) => mark(client, note));
}

/** The move has failed: its own note goes, and never the note of another one. */
export function unmarkMoved(url: string, note: MovedNote): Promise<void> {
  return withClient(url, async (client) => {
    await client.query('DELETE FROM installation WHERE name = $1 AND value = $2', [MOVED_NOTE, JSON.stringify(note)]);
  });
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await openForData(url);
  try {
    return await orExplain(work(client), CHECK_ADVICE);
  } finally {
    await client.end();
  }
}

async function mark(client: Client, note: MovedNote): Promise<void> {
  const { rows: schema } = await client.query<{ has: boolean }>(
    "SELECT to_regclass('nodes') IS NOT NULL AND to_regclass('installation') IS NOT NULL AS has",
  );
  if (schema[0]?.has !== true) throw noKeystile();
  refuseUnusable(new Map([...(await readInstallation(client))].filter(([name]) => name === IMPORT_NOTE)));
  // Before the locks, so that a node that runs does not wait for them.
  await refuseRunning(client);
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    // A node that starts meanwhile is seen here, or sees the note.
    await takeMigrationLock(client);
    await client.query(TAKE_MOVE_LOCKS);
    await refuseRunning(client);
    await client.query('INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
      MOVED_NOTE,
      JSON.stringify(note),
    ]);
    await client.query('DELETE FROM committers');
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function refuseRunning(client: Client): Promise<void> {
  const { rows } = await client.query<{ id: string; location: string }>(
    'SELECT id, location FROM nodes WHERE seen_at_ms > ledger_now_v1(NULL) - $1 ORDER BY id LIMIT 1',
    [GONE_AFTER_MS],
  );
  const [running] = rows;
  if (running === undefined) return;
  throw new DataError(
    `The node ${running.id} (${running.location}) runs on this database. Stop all nodes before an export with --move. ` +
      `A node that was killed is forgotten after ${GONE_AFTER_MS / 1000} seconds.`,
  );
}

/** Answers whether the database had been moved. */
export function releaseMoved(url: string): Promise<boolean> {
  return withClient(url, release);
}

async function release(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>("SELECT to_regclass('installation') IS NOT NULL AS has");
  if (rows[0]?.has !== true) throw noKeystile();
  const { rowCount } = await client.query('DELETE FROM installation WHERE name = $1', [MOVED_NOTE]);
  return (rowCount ?? 0) > 0;
}

export function noKeystile(): DataError {
  return new DataError(
    'The database has no tables of Keystile. Set KEYSTILE_DATABASE_URL to the database of the service.',
  );
}
