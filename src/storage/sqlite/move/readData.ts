import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from 'bun:sqlite';

import { DataError } from '../../sql/move/dataError.ts';
import type { DataSource } from '../../sql/move/dataPorts.ts';
import { type CounterName, COUNTERS, type DataRow, type DataTable } from '../../sql/move/dataTables.ts';
import { rowsOfSlice } from '../../sql/move/sliceRows.ts';
import { readWorkspaceId } from '../file/installation.ts';
import { isBeforeFirstRelease, readSchemaVersion, SCHEMA_VERSION } from '../file/migrate.ts';
import { attachAnalytics } from '../file/openDatabase.ts';
import { ACCOUNT_LENGTH, fromLog } from '../loggedBytes.ts';
import { toPortable } from './portableOutcome.ts';

/** Rows that are read at once. */
const STEP = 2_000;

/** Reads a data folder in one transaction. A service may run on it, and another program may write. */
export class SqliteDataSource implements DataSource {
  readonly engine = 'sqlite';
  readonly schema: number;
  readonly installation: string;
  readonly #db: Database;

  private constructor(db: Database) {
    this.#db = db;
    this.schema = readSchemaVersion(db);
    this.installation = readWorkspaceId(db) ?? '';
  }

  static open(folder: string): SqliteDataSource {
    const [path, analyticsPath] = [join(folder, 'keystile.db'), join(folder, 'analytics.db')];
    for (const each of [path, analyticsPath])
      if (!existsSync(each))
        throw new DataError(`There is no ${each}. Set KEYSTILE_DATA to a data folder in which the service has run.`);
    const db = new Database(path, { readonly: true });
    try {
      db.run('PRAGMA busy_timeout = 5000');
      refuseOtherVersion(db, folder);
      attachAnalytics(db, analyticsPath);
      db.run('BEGIN');
      return new SqliteDataSource(db);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  async *read(table: DataTable): AsyncGenerator<readonly DataRow[]> {
    let step: DataRow[] = [];
    for (const row of this.#rows(table)) {
      step.push(row);
      if (step.length < STEP) continue;
      yield step;
      step = [];
    }
    if (step.length > 0) yield step;
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #rows(table: DataTable): Iterable<DataRow> {
    if (table === COUNTERS) return this.#counters();
    const stored = this.#select(table);
    switch (table.name) {
      case 'accounts':
        return mergeAccounts(stored, loggedAccounts(this.#db));
      case 'idempotency_0':
      case 'idempotency_1':
        return map(stored, (row) => ({ ...row, outcome: toPortable(String(row['outcome'])) }));
      case 'verdict_log':
        return this.#countLog(stored);
      default:
        return stored;
    }
  }

  #select({ name, key, columns, isAnalytics }: DataTable): Iterable<DataRow> {
    const from = `${isAnalytics ? 'analytics' : 'main'}.${name}`;
    const sql = `SELECT ${[...columns.keys()].join(', ')} FROM ${from} ORDER BY ${key.join(', ')}`;
    return this.#db.query(sql).iterate() as Iterable<DataRow>;
  }

  /** The rows of the log, then those of packed slices. */
  *#countLog(stored: Iterable<DataRow>): Generator<DataRow> {
    yield* stored;
    const slices = this.#db.query('SELECT body FROM analytics.count_slices ORDER BY number').iterate();
    for (const { body } of slices as Iterable<{ body: string }>) yield* rowsOfSlice(body);
  }

  #counters(): DataRow[] {
    const value = (name: string): string | null =>
      (this.#db.query('SELECT value FROM installation WHERE name = ?').get(name) as { value: string } | null)?.value ??
      null;
    const last = (of: string): number =>
      (this.#db.query('SELECT seq FROM sqlite_sequence WHERE name = ?').get(of) as { seq: number } | null)?.seq ?? 0;
    const noted = value('idempotency_partition');
    const running = noted === null ? null : (JSON.parse(noted) as { partition: number; sinceMs: number });
    const found: Readonly<Record<CounterName, number | null>> = {
      idempotency_partition: running?.partition ?? 0,
      idempotency_since_ms: running?.sinceMs ?? null,
      last_audit_entry: last('audit_entries'),
      last_event: last('events'),
      next_account: Number(value('next_account') ?? '1'),
    };
    return Object.entries(found).flatMap(([name, count]) => (count === null ? [] : [{ name, value: count }]));
  }
}

/** Refuses a database that this program cannot export. */
export function refuseOtherVersion(db: Database, folder: string): void {
  const version = readSchemaVersion(db);
  if (version === SCHEMA_VERSION && !isBeforeFirstRelease(db)) return;
  throw new DataError(
    `The database in ${folder} has schema version ${version}, and this program exports version ${SCHEMA_VERSION}. ` +
      'Use the program that wrote it, or start keystile serve once, which migrates it.',
  );
}

function* map(rows: Iterable<DataRow>, change: (row: DataRow) => DataRow): Generator<DataRow> {
  for (const row of rows) yield change(row);
}

/** The present state of the accounts that the log has changed but the table does not have yet; null = closed. */
function loggedAccounts(db: Database): Map<number, DataRow | null> {
  const logged = new Map<number, DataRow | null>();
  const rows = db.query('SELECT number, entries FROM ledger_log ORDER BY number').iterate();
  for (const { number, entries } of rows as Iterable<{ number: number; entries: Uint8Array }>) {
    const numbers = readEntries(number, entries);
    for (let at = 0; at < numbers.length; at += ACCOUNT_LENGTH) logged.set(numbers[at] ?? 0, toRow(numbers, at));
  }
  return logged;
}

/** Both are read in the order of the ids. */
function* mergeAccounts(stored: Iterable<DataRow>, logged: ReadonlyMap<number, DataRow | null>): Generator<DataRow> {
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
