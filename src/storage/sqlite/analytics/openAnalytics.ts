import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';

import { FolderError } from '../file/dataFolder.ts';
import { configure } from '../file/openDatabase.ts';
import { type Aside, putAside } from '../file/putAside.ts';
import type { PreparedAnalytics } from '../file/upgrade.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import { ANALYTICS_VERSION, migrateAnalytics, readAnalyticsVersion } from './analyticsFile.ts';
import { unopened } from './inspectAnalytics.ts';

/**
 * Brings the file to the version of this program, up to the commit. Creates it if it is missing: the service can start without counts, but
 * not without keys.
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

/** Migrates an older or a new file in a transaction. One that is not committed leaves no copy: nothing has happened to the file. */
function begin(db: Database, aside: Aside): PreparedAnalytics {
  const copy = aside.version === 0 ? null : putAside(db, aside);
  const undo = (): void => {
    // Closing undoes what is not committed.
    db.close();
    if (copy !== null) rmSync(copy, { force: true });
  };
  const orUndo = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      undo();
      throw copy === null ? unopened(aside.path, error) : notMigrated(aside, error);
    }
  };
  orUndo(() => {
    db.run('BEGIN IMMEDIATE');
    migrateAnalytics(db, aside.version);
  });
  const commit = (): void => {
    orUndo(() => db.run('COMMIT'));
    db.close();
  };
  return { commit, undo };
}

function notMigrated({ path, version }: Aside, error: unknown): FolderError {
  const { kind, message } = toWriteFailure(error);
  return new FolderError(
    `The analytics in ${path} could not be migrated from schema version ${version} to ${ANALYTICS_VERSION} (${message}). ` +
      'The file is as it was before, with all its counts.',
    kind === 'full',
  );
}
