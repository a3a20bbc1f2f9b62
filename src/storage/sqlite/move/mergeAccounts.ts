import type { Database } from 'bun:sqlite';

import { DataError } from '../../sql/move/dataError.ts';
import type { DataRow } from '../../sql/move/dataTables.ts';
import { fromLog } from '../log/logBytes.ts';
import { ACCOUNT_LENGTH } from '../log/loggedAccount.ts';

/** The accounts that the log has changed and the table does not have yet, as they are now; null = closed. */
export function loggedAccounts(db: Database): Map<number, DataRow | null> {
  const logged = new Map<number, DataRow | null>();
  const rows = db.query('SELECT number, entries FROM ledger_log ORDER BY number').iterate();
  for (const { number, entries } of rows as Iterable<{ number: number; entries: Uint8Array }>) {
    const numbers = readEntries(number, entries);
    for (let at = 0; at < numbers.length; at += ACCOUNT_LENGTH) logged.set(numbers[at] ?? 0, toRow(numbers, at));
  }
  return logged;
}

/** Both are read in the order of the ids. */
export function* mergeAccounts(
  stored: Iterable<DataRow>,
  logged: ReadonlyMap<number, DataRow | null>,
): Generator<DataRow> {
  const ids = [...logged.keys()].sort((a, b) => a - b);
  let next = 0;
  for (const row of stored) {
    const id = Number(row['id']);
    for (; (ids[next] ?? Infinity) < id; next++) yield* present(logged.get(ids[next] ?? 0));
    if (ids[next] === id) yield* present(logged.get(ids[next++] ?? 0));
    else yield row;
  }
  for (; next < ids.length; next++) yield* present(logged.get(ids[next] ?? 0));
}

function present(row: DataRow | null | undefined): readonly DataRow[] {
  return row === null || row === undefined ? [] : [row];
}

function readEntries(number: number, entries: Uint8Array): Float64Array {
  try {
    return fromLog(entries);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataError(`Row ${number} of the ledger's log cannot be read (${reason}). Restore a backup first.`);
  }
}

const CLOSED = -1;

function toRow(numbers: Float64Array, at: number): DataRow | null {
  const [id = 0, kind = 0, value = 0, mark = 0, due = 0, revision = 0, base = 0, segment = 0] = numbers.subarray(
    at,
    at + ACCOUNT_LENGTH,
  );
  if (kind === CLOSED) return null;
  return { id, kind, value, mark, due_at_ms: due, revision, base, segment_ms: segment };
}
