import { existsSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { Database, type Statement } from 'bun:sqlite';

import { type DataSource, type DataBatch, type DataTarget, type FinishedData } from '../sql/move/dataFormat.ts';
import { DataError } from '../sql/move/dataError.ts';
import {
  type CounterName,
  COUNTERS,
  type DataRow,
  type DataTable,
  DATA_TABLES,
  rowsOfSlice,
} from '../sql/move/dataTables.ts';
import { readWorkspaceId, notePath, noteText } from './file/installation.ts';
import { isBeforeFirstRelease, readSchemaVersion, SCHEMA_VERSION, migrate } from './file/migrate.ts';
import { attachAnalytics } from './file/openDatabase.ts';
import { ACCOUNT_LENGTH, fromLog } from './loggedBytes.ts';
import { findImported, IMPORT_ACTION, IMPORTED_NOTE, importedNote, importEntry } from '../sql/move/importedNote.ts';
import { migrateAnalytics } from './analytics.ts';
import { makePartialFolder } from './backup/makeBackup.ts';
import { isFree, realFolder } from './backup/restoreBackup.ts';
import { flushFolder, writeDurably } from './file/dataFolder.ts';
import { toWriteFailure } from './file/writeFailure.ts';
import type { ChargeResult } from '../../core/spend.ts';

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

interface TargetOptions {
  readonly exportId: string;
  /** The id of the new folder. */
  readonly folderId: string;
}

type Row = Statement<unknown, (string | number | null)[]>;

/**
 * Fills a new data folder. It is built beside its place, without flushes, and renamed when it is complete and flushed. An import that ends
 * before that leaves nothing, and must begin again.
 */
export class SqliteDataTarget implements DataTarget {
  readonly stored = { line: 0, sha256: null };
  readonly folder: string;
  readonly #partial: string;
  readonly #db: Database;
  readonly #folderId: string;
  readonly #inserts = new Map<DataTable, Row>();
  readonly #counters = new Map<string, number>();

  private constructor(folder: string, partial: string, db: Database, folderId: string) {
    this.folder = folder;
    this.#partial = partial;
    this.#db = db;
    this.#folderId = folderId;
  }

  static open(path: string, { exportId, folderId }: TargetOptions): SqliteDataTarget {
    const folder = realFolder(path);
    if (!isFree(folder))
      throw new DataError(
        findImported(`The data folder ${folder}`, notesIn(folder), exportId) ??
          `The data folder ${folder} exists, and an import makes a new one. Name another folder with --data, or move this one away.`,
      );
    return orExplain(folder, () => {
      if (!existsSync(dirname(folder))) throw new DataError(`The folder ${dirname(folder)} does not exist. Create it.`);
      process.umask(0o077);
      const partial = makePartialFolder(folder);
      try {
        return new SqliteDataTarget(folder, partial, makeDatabase(partial), folderId);
      } catch (error) {
        rmSync(partial, { recursive: true, force: true });
        throw error;
      }
    });
  }

  async add({ table, rows, lines }: DataBatch): Promise<void> {
    if (table === COUNTERS) {
      for (const { name, value } of rows) this.#counters.set(String(name), Number(value));
      return;
    }
    orExplain(this.folder, () => {
      const insert = this.#insertOf(table);
      this.#db.run('BEGIN');
      for (const [i, row] of rows.entries()) this.#insert(insert, table, { row, line: lines[i] ?? 0 });
      this.#db.run('COMMIT');
    });
  }

  async finish(finished: FinishedData): Promise<void> {
    orExplain(this.folder, () => {
      this.#compareRows(finished);
      this.#note(finished);
      for (const statement of this.#inserts.values()) statement.finalize();
      this.#db.close();
      for (const name of ['keystile.db', 'analytics.db']) flushFile(join(this.#partial, name));
      writeDurably(notePath(this.#partial), noteText({ number: 0, id: this.#folderId }));
      flushFolder(this.#partial);
      renameSync(this.#partial, this.folder);
      flushFolder(dirname(this.folder));
    });
  }

  async close(): Promise<void> {
    try {
      this.#db.close();
    } finally {
      rmSync(this.#partial, { recursive: true, force: true });
    }
  }

  #insertOf(table: DataTable): Row {
    let insert = this.#inserts.get(table);
    if (insert === undefined) {
      const columns = [...table.columns.keys()];
      const into = `${table.isAnalytics ? 'analytics' : 'main'}.${table.name}`;
      insert = this.#db.prepare(
        `INSERT INTO ${into} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      this.#inserts.set(table, insert);
    }
    return insert;
  }

  #insert(insert: Row, table: DataTable, { row, line }: { readonly row: DataRow; readonly line: number }): void {
    const isAnswer = table.name.startsWith('idempotency_');
    const values = Array.from(table.columns.keys(), (column) => {
      const value = row[column] ?? null;
      return isAnswer && column === 'outcome' ? fromPortable(String(value)) : value;
    });
    try {
      insert.run(...values);
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind !== 'refused') throw failure;
      throw new DataError(
        `The file cannot be imported: in line ${line}, the row of ${table.name} is refused (${failure.message}). Export the data again.`,
      );
    }
  }

  #compareRows({ rows }: FinishedData): void {
    for (const table of DATA_TABLES) {
      if (table === COUNTERS) continue;
      const from = `${table.isAnalytics ? 'analytics' : 'main'}.${table.name}`;
      const { count } = this.#db.query(`SELECT count(*) AS count FROM ${from}`).get() as { count: number };
      const expected = rows.get(table.name) ?? 0;
      if (count !== expected)
        throw new DataError(`The new database has ${count} rows of ${table.name}, and the file has ${expected}.`);
    }
  }

  #note(finished: FinishedData): void {
    const { header, importedAtMs } = finished;
    const counter = (name: CounterName): number | undefined => this.#counters.get(name);
    const sinceMs = counter('idempotency_since_ms');
    const notes: Record<string, string> = {
      workspace_id: header.installation,
      folder_id: this.#folderId,
      next_account: String(counter('next_account') ?? 1),
      [IMPORTED_NOTE]: importedNote(finished),
      ...(sinceMs === undefined
        ? {}
        : { idempotency_partition: JSON.stringify({ partition: counter('idempotency_partition') ?? 0, sinceMs }) }),
    };
    this.#db.run('BEGIN');
    for (const [name, value] of Object.entries(notes))
      this.#db.query('INSERT INTO installation (name, value) VALUES (?, ?)').run(name, value);
    this.#continue('events', counter('last_event') ?? 0);
    this.#continue('audit_entries', counter('last_audit_entry') ?? 0);
    this.#db
      .query('INSERT INTO audit_entries (at_ms, actor, action, target, after_json) VALUES (?, ?, ?, ?, ?)')
      .run(importedAtMs, 'cli', IMPORT_ACTION, header.installation, importEntry(finished));
    this.#db.run('COMMIT');
  }

  /** Numbers of a table continue after all that it ever had. */
  #continue(table: string, last: number): void {
    const set = this.#db.query('UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1').run(table, last);
    if (set.changes === 0) this.#db.query('INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)').run(table, last);
  }
}

/** The rows of `installation`. */
function notesIn(folder: string): ReadonlyMap<string, string> {
  try {
    using db = new Database(join(folder, 'keystile.db'), { readonly: true });
    return new Map(db.query('SELECT name, value FROM installation').values() as [string, string][]);
  } catch {
    // The folder is not a data folder, or cannot be read.
    return new Map();
  }
}

/** Nothing is flushed before the end, because a crash leaves a folder that nobody uses. */
function makeDatabase(folder: string): Database {
  const analyticsPath = join(folder, 'analytics.db');
  {
    using analytics = new Database(analyticsPath, { create: true, readwrite: true });
    migrateAnalytics(analytics);
  }
  const db = new Database(join(folder, 'keystile.db'), { create: true, readwrite: true });
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA cache_size = -262144');
  migrate(db);
  attachAnalytics(db, analyticsPath);
  for (const schema of ['main', 'analytics']) db.run(`PRAGMA ${schema}.journal_mode = MEMORY`);
  db.run('PRAGMA analytics.synchronous = OFF');
  return db;
}

function flushFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function orExplain<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DataError) throw error;
    const { kind, message } = toWriteFailure(error);
    const advice = kind === 'full' ? 'Make space on its disk.' : 'Check its disk, and that this user may write there.';
    throw new DataError(`The data folder ${folder} was not made (${message}). Nothing is left of it. ${advice}`);
  }
}

interface Outcome {
  readonly charges: readonly ChargeResult[];
  readonly nowMs: number;
}

/** A remembered answer in the form of an export: the instant of the answer, then two numbers for each charge. */
function toPortable(stored: string): string {
  const { charges, nowMs } = JSON.parse(stored) as Outcome;
  return [nowMs, ...charges.flatMap(({ left, resetAtMs }) => [left, resetAtMs])].join(',');
}

function fromPortable(portable: string): string {
  const [nowMs = 0, ...numbers] = portable.split(',').map(Number);
  const charges: ChargeResult[] = [];
  for (let i = 0; i < numbers.length; i += 2) charges.push({ left: numbers[i] ?? 0, resetAtMs: numbers[i + 1] ?? 0 });
  return JSON.stringify({ charges, nowMs } satisfies Outcome);
}
