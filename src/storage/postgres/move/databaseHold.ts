import type { Client } from 'pg';

import { GONE_AFTER_MS } from '../../../core/health.ts';
import { DataError } from '../../sql/move/dataError.ts';
import { ADD_RELEASE_ENTRY, MOVED_NOTE, type MovedNote } from '../../sql/move/importedNote.ts';
import { withDeadline } from '../connection/connector.ts';
import { beginInOwnSession } from '../connection/ownSession.ts';
import { TAKE_MOVE_LOCKS } from '../connection/movedFence.ts';
import { takeMigrationLock } from '../schema/migrate.ts';
import { hasTables } from '../schema/tableRights.ts';
import { noKeystile, readExportable, openForData, orExplain, takeSessionLock } from '../move.ts';

/** Key of the advisory lock of a move: any number, the same for all moves and releases. */
const MOVING_LOCK = 7_218_530_415;
/** How long a statement waits for nodes that have begun something. */
const LOCK_TIMEOUT_MS = 5_000;
/** A failed export releases the database before it reports its reason. It waits this long for a database that does not answer. */
const LET_GO_WITHIN_MS = 5_000;

const MOVING = 'Another export with --move is running. Wait until it ends, or stop it.';
const STOP_FIRST = 'An export with --move is running on this database. Stop it first.';
const TAKE_ADVICE =
  'Run the command again. Or run keystile data release before you start a node, unless an earlier export with --move is used.';
const FINISH_ADVICE = 'Nothing is left of the export. Run the command again.';
const CHECK_ADVICE = 'Check KEYSTILE_DATABASE_URL, and run the command again.';

/**
 * A database that is held for a move. Its note refuses every start, spend and change:
 *
 *   free --take--> noted --finish--> moved --releaseMoved--> free
 *   noted --close (the export has ended before its end)--> free
 *   moved or noted, nobody holds it --take--> noted by the earlier move (wasMoved) --finish--> moved
 *   noted by the earlier move --close--> as before the take: whether the earlier export is used is not known here
 *   noted --the process dies, or its connection--> noted, and nobody holds it --releaseMoved or the next take--> ...
 *
 * From `take` to `close`, one connection has MOVING_LOCK, which every other move and every release needs. So nobody else removes the note
 * while the export is written. A process that dies loses the lock.
 */
export class DatabaseHold {
  readonly #client: Client;
  readonly #note: string;
  /** The note in the database. The note of an earlier move stays until this one is finished. */
  readonly #inForce: string;
  #isFinished = false;

  private constructor(client: Client, note: string, inForce: string) {
    this.#client = client;
    this.#note = note;
    this.#inForce = inForce;
  }

  /** After this, no node starts, spends or changes anything. Refused while a node runs. */
  static async take(url: string, moved: MovedNote): Promise<DatabaseHold> {
    const note = JSON.stringify(moved);
    const client = await openForData(url);
    try {
      return new DatabaseHold(client, note, await orExplain(mark(client, note), TAKE_ADVICE));
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  get wasMoved(): boolean {
    return this.#inForce !== this.#note;
  }

  /** After this, the note belongs to this move alone: an earlier move that wakes up does not remove it. */
  async finish(): Promise<void> {
    const put = 'UPDATE installation SET value = $3 WHERE name = $1 AND value = $2';
    const asked = this.#client.query(put, [MOVED_NOTE, this.#inForce, this.#note]);
    const { rowCount } = await orExplain(asked, FINISH_ADVICE);
    if (rowCount !== 1) throw new DataError('The database is no longer held by this export. Run it again.');
    this.#isFinished = true;
  }

  /** Removes its own note, but never that of another move. Rejects if this is not confirmed in time. */
  async close(withinMs = LET_GO_WITHIN_MS): Promise<void> {
    await withDeadline(this.#client, withinMs, this.#letGo());
  }

  async #letGo(): Promise<void> {
    const remove = 'DELETE FROM installation WHERE name = $1 AND value = $2';
    try {
      if (!this.#isFinished) await this.#client.query(remove, [MOVED_NOTE, this.#note]);
    } finally {
      await this.#client.end();
    }
  }
}

/** Returns the note in effect. */
async function mark(client: Client, note: string): Promise<string> {
  await takeSessionLock(client, MOVING_LOCK, MOVING);
  await readExportable(client);
  // Checked before the locks, so that a running node does not wait for them.
  await refuseRunning(client);
  try {
    await beginInOwnSession(
      client,
      `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
    );
    // A node that starts meanwhile is either seen here, or sees the note.
    await takeMigrationLock(client);
    await client.query(TAKE_MOVE_LOCKS);
    await refuseRunning(client);
    const { rows } = await client.query<{ value: string }>(
      'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING value',
      [MOVED_NOTE, note],
    );
    await client.query('DELETE FROM committers');
    await client.query('COMMIT');
    return rows[0]?.value ?? note;
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

/** Returns whether the database had been moved. */
export async function releaseMoved(url: string, atMs: number): Promise<boolean> {
  const client = await openForData(url);
  try {
    return await orExplain(release(client, atMs), CHECK_ADVICE);
  } finally {
    await client.end();
  }
}

async function release(client: Client, atMs: number): Promise<boolean> {
  if (!(await hasTables(client))) throw noKeystile();
  await takeSessionLock(client, MOVING_LOCK, STOP_FIRST);
  const { rowCount } = await client.query(
    `WITH released AS (DELETE FROM installation WHERE name = $2 RETURNING name)
     ${ADD_RELEASE_ENTRY} AND EXISTS (SELECT 1 FROM released)`,
    [atMs, MOVED_NOTE],
  );
  return (rowCount ?? 0) > 0;
}
