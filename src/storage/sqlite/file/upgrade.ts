import type { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';

import type { Tell } from '../../port/tell.ts';
import { FolderError } from './dataFolder.ts';
import { migrate, readSchemaVersion, SCHEMA_VERSION } from './migrate.ts';
import { putAside } from './putAside.ts';
import { isDamage, toWriteFailure } from './writeFailure.ts';

export interface UpgradeOptions {
  readonly path: string;
  readonly nowMs: () => number;
  readonly tell: Tell;
  /** Prepares analytics.db. When it throws, this database stays as it was too. */
  readonly prepareAnalytics: () => PreparedAnalytics;
}

/** analytics.db has what this program needs, in a transaction that is not committed yet. */
export interface PreparedAnalytics {
  readonly commit: () => void;
  readonly undo: () => void;
}

/** Makes the tables of a new database, or brings an older one to the version of this program. */
export function upgrade(db: Database, options: UpgradeOptions): void {
  const version = readSchemaVersion(db);
  const analytics = options.prepareAnalytics();
  try {
    if (version === 0) migrate(db);
    else if (version < SCHEMA_VERSION) upgradeFrom(version, db, options);
  } catch (error) {
    analytics.undo();
    throw error;
  }
  // Last. After a crash before it, the next start migrates the analytics. The other way round, no program could use both files: the older
  // one refuses newer analytics.
  analytics.commit();
}

function upgradeFrom(version: number, db: Database, { path, nowMs, tell }: UpgradeOptions): void {
  const copy = putAside(db, { path, version, nowMs, tell });
  const startedAtMs = nowMs();
  try {
    migrate(db, {
      onStep: (step, steps) =>
        tell('migrating the database', { step: `${step} of ${steps}`, from: version + step - 1, to: version + step }),
    });
  } catch (error) {
    // Otherwise a start that is tried again and again would fill the disk with copies. One of a damaged database is kept.
    const kept = isDamage(error) ? ` A copy is in ${copy}.` : '';
    if (kept === '') rmSync(copy, { force: true });
    if (error instanceof FolderError) throw error;
    throw new FolderError(
      `The database ${path} could not be migrated from schema version ${version} to ${SCHEMA_VERSION} ` +
        `(${toWriteFailure(error).message}). It is as it was before, and the older program can use it.${kept}`,
    );
  }
  tell('the database is migrated; the copy is no longer needed once the new version works', {
    version: SCHEMA_VERSION,
    milliseconds: nowMs() - startedAtMs,
    copy,
  });
}
