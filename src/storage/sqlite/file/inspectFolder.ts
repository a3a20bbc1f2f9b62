import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { constants, Database } from 'bun:sqlite';

import { type InspectedRecords, inspectRecords } from '../../sql/inspectRecords.ts';
import { findUseRefusal, type UseRefusal } from '../../sql/move/importedNote.ts';
import type { SqlReader, Statement } from '../../sql/query/statement.ts';
import { FolderError } from './dataFolder.ts';
import { readFolderId, readWorkspaceId, refuseCopy } from './installation.ts';
import { isBeforeFirstRelease, readSchemaVersion, SCHEMA_VERSION } from './migrate.ts';
import { isDamage, toWriteFailure } from './writeFailure.ts';

/** What an inspection of a data folder finds, whether or not a server uses it. */
export interface InspectedFolder {
  readonly schema: {
    readonly version: number;
    readonly compatibleFrom: number;
    readonly own: number;
    readonly isForeign: boolean;
  };
  /** Why a start refuses the database as a copy; null = it does not. */
  readonly copyRefusal: string | null;
  /** Why a start refuses a database that was moved; null = it does not. */
  readonly useRefusal: UseRefusal | null;
  /** Null: this program does not know the tables. */
  readonly records: InspectedRecords | null;
  /**
   * The ids of the installation and the folder, which mark its backups. Null: it has none yet, or this program does not know the
   * tables.
   */
  readonly ids: { readonly workspaceId: string; readonly folderId: string } | null;
}

/** A database in use answers at once or never. */
const BUSY_TIMEOUT_MS = 1000;

/** Reads the database of a data folder without changing any file. */
export async function inspectFolder(folder: string): Promise<InspectedFolder> {
  const db = openUnchanged(join(folder, 'keystile.db'));
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const version = readSchemaVersion(db);
    const isForeign = isBeforeFirstRelease(db);
    // Each version of the embedded database can be used by its own program, and by newer ones, which migrate it.
    const schema = { version, compatibleFrom: version, own: SCHEMA_VERSION, isForeign };
    if (isForeign || version !== SCHEMA_VERSION)
      return { schema, copyRefusal: null, useRefusal: null, records: null, ids: null };
    const refusals = { copyRefusal: copyRefusal(db, folder), useRefusal: useRefusal(db, folder) };
    return { schema, ...refusals, records: await inspectRecords(readerOf(db)), ids: idsOf(db) };
  } finally {
    db.close();
  }
}

/** What SQLite finds damaged in the file, read from end to end; null = nothing. Changes nothing. It takes two seconds for each GB. */
export function findDamage(path: string): string | null {
  try {
    using db = openUnchanged(path);
    return damageIn(db.query('PRAGMA quick_check(1)').all());
  } catch (error) {
    return isDamage(error) ? toWriteFailure(error).message : null;
  }
}

/** The first damage that `PRAGMA quick_check` has found; null = none. */
export function damageIn(rows: readonly unknown[]): string | null {
  const { quick_check: found } = rows[0] as { quick_check: string };
  if (found === 'ok') return null;
  // The first line of the output names the file.
  return found.replace(/^\*\*\*.*\n/, '').replaceAll('\n', ' ');
}

/** Size in bytes of the longer write-ahead log. */
export function walBytesOf(folder: string): number {
  const sizes = ['keystile.db', 'analytics.db'].map((name) => logBytes(join(folder, name)));
  return Math.max(...sizes);
}

/**
 * Without a log, the file is complete, and SQLite is told that nobody changes it: it then takes no lock and creates no file. With a log,
 * SQLite must not write the index of the log (`-shm`), which a running server shares: it reads that index, or makes its own in memory.
 */
export function openUnchanged(path: string): Database {
  const how = logBytes(path) === 0 ? 'immutable=1' : 'readonly_shm=1';
  const uri = `file:${encodeURI(resolve(path)).replaceAll('?', '%3f').replaceAll('#', '%23')}?${how}`;
  return new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
}

function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

function copyRefusal(db: Database, folder: string): string | null {
  try {
    refuseCopy(db, folder);
    return null;
  } catch (error) {
    if (error instanceof FolderError) return error.message;
    throw error;
  }
}

function idsOf(db: Database): InspectedFolder['ids'] {
  const [workspaceId, folderId] = [readWorkspaceId(db), readFolderId(db)];
  return workspaceId === null || folderId === null ? null : { workspaceId, folderId };
}

function useRefusal(db: Database, folder: string): UseRefusal | null {
  const rows = db.query('SELECT name, value FROM installation').all() as { name: string; value: string }[];
  return findUseRefusal(`The data folder ${folder}`, new Map(rows.map(({ name, value }) => [name, value])));
}

function readerOf(db: Database): SqlReader {
  const find = async <T>({ sql, params }: Statement): Promise<T[]> => db.query(sql).all(...params) as T[];
  return { find, scan: find };
}
