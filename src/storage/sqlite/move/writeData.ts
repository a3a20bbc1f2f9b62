import { Database, type Statement } from 'bun:sqlite';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { DataError } from '../../sql/move/dataError.ts';
import type { DataBatch, DataTarget, FinishedData } from '../../sql/move/dataPorts.ts';
import { COUNTERS, type CounterName, DATA_TABLES, type DataRow, type DataTable } from '../../sql/move/dataTables.ts';
import { findImported, IMPORT_ACTION, IMPORTED_NOTE, importedNote, importEntry } from '../../sql/move/importedNote.ts';
import { migrateAnalytics } from '../analytics/analyticsFile.ts';
import { makePartialFolder } from '../backup/makeBackup.ts';
import { isFree, realFolder } from '../backup/restoreBackup.ts';
import { flushFolder, writeDurably } from '../file/dataFolder.ts';
import { notePath, noteText } from '../file/installation.ts';
import { migrate } from '../file/migrate.ts';
import { attachAnalytics } from '../file/openDatabase.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import { fromPortable } from './portableOutcome.ts';

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
