import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';

import { FolderError } from '../file/dataFolder.ts';
import { configure } from '../file/openDatabase.ts';
import { type Aside, putAside, removeUnlessDamaged, tellMigrated, tellStep } from '../file/putAside.ts';
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

/** Migrates an older or a new file in a transaction. One that is not committed leaves no copy, unless the file is damaged. */
function begin(db: Database, aside: Aside): PreparedAnalytics {
  const { path, version, nowMs } = aside;
  const copy = version === 0 ? null : putAside(db, aside);
  let milliseconds = 0;
  const orUndo = (work: () => void, advice = ''): void => {
    const startedAtMs = nowMs();
    try {
      work();
      milliseconds += nowMs() - startedAtMs;
    } catch (error) {
      // Closing undoes what is not committed.
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
      // A new file has no space of tables that its migrations gave up.
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
      `The file is as it was before, with all its counts.${advice}`,
    kind === 'full',
  );
}
