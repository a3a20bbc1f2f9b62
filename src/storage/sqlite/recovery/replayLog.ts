import type { Database } from 'bun:sqlite';

import { FolderError } from '../file/dataFolder.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { fromLog } from '../log/logBytes.ts';

interface LogRow {
  readonly number: number;
  readonly entries: Uint8Array;
}

/**
 * The start after a crash or a stop. The accounts table may be older than the log: every log row that was not applied
 * (applyLog.ts) is read again, oldest first. Rows hold whole states, so reading one that was applied already changes nothing.
 * Answers the number of the last durable commit.
 */
export function replayLog(db: Database, accounts: Accounts): number {
  const rows = db.query('SELECT number, entries FROM ledger_log ORDER BY number').iterate() as Iterable<LogRow>;
  for (const row of rows) accounts.adoptLogged(readRow(row));
  return readLastCommit(db);
}

/** The number of the last durable commit. */
export function readLastCommit(db: Database): number {
  const { last } = db.query('SELECT coalesce(max(number), 0) AS last FROM ledger_log').get() as { last: number };
  return Math.max(readAppliedTo(db), last);
}

function readRow({ number, entries }: LogRow): Float64Array {
  try {
    return fromLog(entries);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new FolderError(`Row ${number} of the ledger's log cannot be read (${reason}).`);
  }
}

/** The last commit whose log row was removed. */
function readAppliedTo(db: Database): number {
  const row = db.query("SELECT value FROM installation WHERE name = 'applied_to'").get() as { value: string } | null;
  return row === null ? 0 : Number(row.value);
}
