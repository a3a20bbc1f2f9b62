import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from 'bun:sqlite';

import { FORMER_CODES, CODES } from '../sql/analytics/countColumns.ts';
import { copyCounts, type OnPart } from '../sql/analytics/formerCounts.ts';
import type { Params, Statement } from '../sql/query/statement.ts';
import { FolderError } from './file/dataFolder.ts';
import { openUnchanged } from './file/inspectFolder.ts';
import { configure } from './file/openDatabase.ts';
import {
  type Aside,
  copyBeforeMigration,
  removeUnlessDamaged,
  tellMigrated,
  tellStep,
} from './file/copyBeforeMigration.ts';
import type { PreparedAnalytics } from './file/migrate.ts';
import { isDamage, toWriteFailure } from './file/writeFailure.ts';
import type { CountColumns } from '../../core/verificationCounts.ts';
import { StorageUnavailable } from '../port/storage.ts';
import type { CountWriter } from '../sql/analytics/analytics.ts';
import type { Unfolded } from '../sql/analytics/fold.ts';
import { packCounts, sumByApi } from '../sql/analytics/packedCounts.ts';
import type { LazyThread } from './thread/threadClient.ts';

/**
 * The counts of verifications and the saved local limits are in a separate file, analytics.db. Its own thread writes it, so no spend waits
 * for it. Connections that read have the file attached. If it is missing, the service starts without counts.
 */

const COUNT_COLUMNS = `
    valid INTEGER NOT NULL, not_found INTEGER NOT NULL, forbidden INTEGER NOT NULL, disabled INTEGER NOT NULL, expired INTEGER NOT NULL,
    insufficient_permissions INTEGER NOT NULL, rate_limited INTEGER NOT NULL, usage_exceeded INTEGER NOT NULL, credits INTEGER NOT NULL`;

/**
 * Spans are 0 minute, 1 hour, 2 day; '' means no key, no identity, no tags. Rows of one time are next to each other. The index
 * by key has hours and days only: minutes would cost more than everything else. The statistics say what the tables are like
 * when they are large, so that SQLite chooses the same index at any size. A slice has its counts twice: `body` by key, and
 * `apis` added up by api, which is short and can be read as it is.
 */
const SCHEMA = `
  CREATE TABLE count_slices (number INTEGER PRIMARY KEY, apis TEXT NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE TABLE count_log (
    number INTEGER PRIMARY KEY,
    minute_ms INTEGER NOT NULL, api_id TEXT NOT NULL, key_id TEXT NOT NULL, identity_id TEXT NOT NULL, tags TEXT NOT NULL,${COUNT_COLUMNS},
    last_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE key_counts (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, key_id TEXT NOT NULL, identity_id TEXT NOT NULL, tags TEXT NOT NULL,${COUNT_COLUMNS},
    PRIMARY KEY (span, time_ms, api_id, key_id, identity_id, tags)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_counts_of_key ON key_counts (key_id, span, time_ms) WHERE span > 0;
  CREATE TABLE api_counts (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, tags TEXT NOT NULL,${COUNT_COLUMNS},
    PRIMARY KEY (span, time_ms, api_id, tags)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE key_uses (key_id TEXT PRIMARY KEY, last_used_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE local_counts (
    owner TEXT NOT NULL, name TEXT NOT NULL, duration_ms INTEGER NOT NULL, count INTEGER NOT NULL, reset_at_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, name, duration_ms)
  ) STRICT, WITHOUT ROWID;
  ANALYZE;
  INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('key_counts', 'key_counts', '100000000 30000000 50000 10000 2 2 1'),
    ('key_counts', 'key_counts_of_key', '10000000 1000 500 1');
  `;

const SUMMED = 'code INTEGER NOT NULL, count INTEGER NOT NULL, credits INTEGER NOT NULL';

/** A row for each verdict code: a new code is a new number, not a new column. */
const VERDICT_TABLES = `
  CREATE TABLE verdict_log (
    number INTEGER PRIMARY KEY,
    minute_ms INTEGER NOT NULL, api_id TEXT NOT NULL, key_id TEXT NOT NULL, identity_id TEXT NOT NULL, tags TEXT NOT NULL, ${SUMMED},
    last_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE key_verdicts (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, key_id TEXT NOT NULL, identity_id TEXT NOT NULL, tags TEXT NOT NULL,
    ${SUMMED},
    PRIMARY KEY (span, time_ms, api_id, key_id, identity_id, tags, code)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE api_verdicts (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, tags TEXT NOT NULL, ${SUMMED},
    PRIMARY KEY (span, time_ms, api_id, tags, code)
  ) STRICT, WITHOUT ROWID;
  `;

/** Made after the rows are in place: building an index from all rows at once is faster. */
const IN_PLACE_OF_COUNTS = `
  CREATE INDEX key_verdicts_of_key ON key_verdicts (key_id, span, time_ms) WHERE span > 0;
  DROP TABLE key_counts;
  DROP TABLE api_counts;
  DROP TABLE count_log;
  INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('key_verdicts', 'key_verdicts', '100000000 30000000 50000 10000 2 2 1 1'),
    ('key_verdicts', 'key_verdicts_of_key', '10000000 1000 500 1');
  `;

/** Lists of counts by api had the credits last, after the codes. */
const CREDITS_FIRST = `UPDATE count_slices SET apis = (SELECT json_group_array(json_array(
  ${[0, 1, 2, 3 + FORMER_CODES.length, ...FORMER_CODES.keys().map((code) => 3 + code)].map((i) => `json_extract(value, '$[${i}]')`).join(', ')}))
  FROM json_each(count_slices.apis))`;

function countByCode(db: Database, onPart: OnPart): void {
  db.run(VERDICT_TABLES);
  const statements = copyCounts(onPart);
  for (let next = statements.next([]); next.done !== true;) {
    const { sql, params } = next.value;
    next = statements.next(db.query<unknown, Params>(sql).all(...params));
  }
  db.run(CREDITS_FIRST);
  db.run(IN_PLACE_OF_COUNTS);
}

const TABLES = [...(SCHEMA + VERDICT_TABLES).matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name ?? '');
const OF_ANALYTICS = new RegExp(`\\b(?:${TABLES.join('|')})\\b`);

/** Whether a statement reads this file. No statement reads both files. */
export function readsAnalytics(sql: string): boolean {
  return OF_ANALYTICS.test(sql);
}

/** Every analytics.db has this number, "KEYA". Files of programs before 0.1.0 have none, and may have other columns. */
const APPLICATION_ID = 0x4b455941;

/** A migration that needs more than statements. */
type Migration = (db: Database, onPart: OnPart) => void;

/** Forward migrations. */
const MIGRATIONS: readonly (string | Migration)[] = [SCHEMA, countByCode];

export const ANALYTICS_VERSION = MIGRATIONS.length;

/** The schema version of the file; 0 = new. Refuses an unknown file and changes nothing. */
export function readAnalyticsVersion(db: Database, path: string): number {
  const { user_version } = db.query('PRAGMA user_version').get() as { user_version: number };
  const { application_id } = db.query('PRAGMA application_id').get() as { application_id: number };
  if (user_version > 0 && application_id !== APPLICATION_ID) {
    throw new FolderError(
      `The analytics in ${path} were written by a program before 0.1.0. Move the file away to begin without counts.`,
    );
  }
  if (user_version > MIGRATIONS.length) {
    throw new FolderError(
      `The analytics in ${path} have schema version ${user_version}, and this program knows up to ${MIGRATIONS.length}. ` +
        'Start it with the newer program that wrote them, or move the file away to begin without counts.',
    );
  }
  return user_version;
}

interface AnalyticsSteps {
  /** The version to migrate to; absent = the newest. */
  readonly upTo?: number;
  /** Called before each step. */
  readonly onStep?: (step: number, steps: number) => void;
  /** Called with the progress of a step that takes long. */
  readonly onPart?: OnPart;
}

/** Migrates the file from this version to the newest, in the transaction of the caller. */
export function migrateAnalytics(
  db: Database,
  from = 0,
  { upTo = MIGRATIONS.length, onStep = () => {}, onPart = () => {} }: AnalyticsSteps = {},
): void {
  for (const [i, migration] of MIGRATIONS.slice(from, upTo).entries()) {
    onStep(i + 1, upTo - from);
    if (typeof migration === 'string') db.run(migration);
    else migration(db, onPart);
  }
  db.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  db.run(`PRAGMA user_version = ${upTo}`);
}

/**
 * Migrates the file to the version of this program, up to the commit. Creates a missing file: the service can start without counts, but not
 * without keys.
 */
export function openAnalytics(path: string, aside: Pick<Aside, 'nowMs' | 'tell'>): PreparedAnalytics {
  let db: Database | null = null;
  try {
    db = new Database(path, { create: true, readwrite: true });
    configure(db);
    const version = readAnalyticsVersion(db, path);
    if (version < ANALYTICS_VERSION) return begin(db, { ...aside, path, version });
    db.close();
    return { commit: () => {}, undo: () => {} };
  } catch (error) {
    db?.close();
    throw error instanceof FolderError ? error : unopened(path, error);
  }
}

/** Migrates an older or a new file in a transaction. If it is not committed, no copy is left, unless the file is damaged. */
function begin(db: Database, aside: Aside): PreparedAnalytics {
  const { path, version, nowMs } = aside;
  const copy = version === 0 ? null : copyBeforeMigration(db, aside);
  let milliseconds = 0;
  const orUndo = (work: () => void, advice = ''): void => {
    const startedAtMs = nowMs();
    try {
      work();
      milliseconds += nowMs() - startedAtMs;
    } catch (error) {
      // Closing rolls back what is not committed.
      db.close();
      throw copy === null
        ? unopened(path, error)
        : notMigrated(aside, error, advice + removeUnlessDamaged(copy, error));
    }
  };
  orUndo(() => {
    db.run('BEGIN IMMEDIATE');
    migrateAnalytics(db, version, {
      onStep(step, steps) {
        if (copy !== null) tellStep(aside, step, steps);
      },
      onPart(table, done) {
        if (copy !== null) aside.tell('migrating the database', { table, done, file: path });
      },
    });
  });
  return {
    commit(isDatabaseMigrated) {
      orUndo(() => db.run('COMMIT'), isDatabaseMigrated ? START_AGAIN : '');
      // A new file keeps no space of tables that its migrations have dropped.
      if (version === 0) orUndo(() => db.run('VACUUM'));
      db.close();
      if (copy !== null) tellMigrated(aside, { version: ANALYTICS_VERSION, milliseconds, copy });
    },
    undo() {
      db.close();
      if (copy !== null) rmSync(copy, { force: true });
    },
  };
}

const START_AGAIN =
  ' keystile.db is migrated already, and the older program refuses the folder: start this program again, which migrates the analytics.';

function notMigrated({ path, version }: Aside, error: unknown, advice: string): FolderError {
  const { kind, message } = toWriteFailure(error);
  return new FolderError(
    `The analytics in ${path} could not be migrated from schema version ${version} to ${ANALYTICS_VERSION} (${message}). ` +
      `The file is unchanged, with all its counts.${advice}`,
    kind === 'full',
  );
}

/** Why a start refuses the analytics.db of this folder, and what to do; null = it does not. Changes no file. */
export function analyticsRefusal(folder: string): { readonly text: string; readonly isDamaged: boolean } | null {
  const path = join(folder, 'analytics.db');
  // A start creates a new file.
  if (!existsSync(path)) return null;
  try {
    using db = openUnchanged(path);
    readAnalyticsVersion(db, path);
    return null;
  } catch (error) {
    if (error instanceof FolderError) return { text: error.message, isDamaged: false };
    // For example a log that only a start can read.
    return isDamage(error) ? { text: unopened(path, error).message, isDamaged: true } : null;
  }
}

/** The error for a file that cannot be opened. */
function unopened(path: string, error: unknown): FolderError {
  const { kind, message } = toWriteFailure(error);
  if (kind === 'full') return new FolderError(`The analytics in ${path} cannot be opened (${message}).`, true);
  return new FolderError(
    `The analytics in ${path} cannot be opened (${message}). Move the file away to begin without counts.`,
  );
}

/** Writes analytics in their own thread: no spend waits for it, and verification continues if it fails. */
export class SqliteCountWriter implements CountWriter {
  readonly #db: Database;
  readonly #thread: LazyThread;

  /** `db` is used for reading only. */
  constructor(db: Database, thread: LazyThread) {
    this.#db = db;
    this.#thread = thread;
  }

  async append(counts: CountColumns): Promise<void> {
    await this.#write([{ sql: ADD_SLICE, params: [packApis(counts), packCounts(counts)] }]);
  }

  /** A question about keys cannot read slices, so they become rows of the log first. */
  async unfolded(isOfApi: boolean): Promise<Unfolded> {
    if (isOfApi) return () => APIS_OF_SLICES;
    await this.#try(async () => {
      if (this.#db.query('SELECT 1 FROM count_slices LIMIT 1').get() === null) return;
      const thread = await this.#thread.get();
      while (!(await thread.call('unpackCounts')));
    });
    return () => null;
  }

  fold(): Promise<boolean> {
    return this.#try(async () => {
      const [any] = this.#db
        .query('SELECT EXISTS (SELECT 1 FROM count_slices) OR EXISTS (SELECT 1 FROM verdict_log)')
        .values();
      return any?.[0] === 1 ? (await this.#thread.get()).call('foldCounts') : true;
    });
  }

  async remove(statement: Statement): Promise<number> {
    return (await this.#write([statement]))[0] ?? 0;
  }

  #write(statements: readonly Statement[]): Promise<number[]> {
    return this.#try(async () => (await this.#thread.get()).call('write', statements));
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      throw new StorageUnavailable(`The analytics cannot be written (${toWriteFailure(error).message}).`);
    }
  }
}

export const ADD_SLICE = 'INSERT INTO count_slices (apis, body) VALUES ($1, $2)';

/** Codes come last, so that a new code changes no place. */
const COLUMNS = ['minute_ms', 'api_id', 'tags', 'credits', ...CODES];

/** The counts of one slice by minute, api and tags, as a JSON list of rows, which SQLite's own functions read. */
export function packApis(counts: CountColumns): string {
  return JSON.stringify(
    sumByApi(counts).map(({ minuteMs, apiId, tags, counts: byCode, credits }) => [
      minuteMs,
      apiId,
      tags,
      credits,
      ...byCode,
    ]),
  );
}

const VALUES = COLUMNS.map((name, i) => `coalesce(json_extract(row.value, '$[${i}]'), 0) AS ${name}`).join(', ');

/** A subquery with the columns that a question about apis reads. */
export const APIS_OF_SLICES = `(SELECT ${VALUES} FROM count_slices s, json_each(s.apis) row)`;
