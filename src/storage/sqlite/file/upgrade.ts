import type { Database } from 'bun:sqlite';

import type { Tell } from '../../port/tell.ts';
import { FolderError } from './dataFolder.ts';
import { migrate, readSchemaVersion, SCHEMA_VERSION } from './migrate.ts';
import { putAside, removeUnlessDamaged, tellMigrated, tellStep } from './putAside.ts';
import { toWriteFailure } from './writeFailure.ts';

export interface UpgradeOptions {
  readonly path: string;
  readonly nowMs: () => number;
  readonly tell: Tell;
  /** Prepares analytics.db. When it throws, this database stays as it was too. */
  readonly prepareAnalytics: () => PreparedAnalytics;
}

/** analytics.db has what this program needs, in a transaction that is not committed yet. */
export interface PreparedAnalytics {
  /** Undoes what is prepared when it throws. Is told whether this start has migrated keystile.db. */
  readonly commit: (isDatabaseMigrated: boolean) => void;
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
  analytics.commit(version > 0 && version < SCHEMA_VERSION);
}

function upgradeFrom(version: number, db: Database, { path, nowMs, tell }: UpgradeOptions): void {
  const aside = { path, version, nowMs, tell };
  const copy = putAside(db, aside);
  const startedAtMs = nowMs();
  try {
    migrate(db, { onStep: (step, steps) => tellStep(aside, step, steps) });
  } catch (error) {
    const kept = removeUnlessDamaged(copy, error);
    if (error instanceof FolderError) throw error;
    const { kind, message } = toWriteFailure(error);
    throw new FolderError(
      `The database ${path} could not be migrated from schema version ${version} to ${SCHEMA_VERSION} ` +
        `(${message}). It is as it was before, and the older program can use it.${kept}`,
      kind === 'full',
    );
  }
  tellMigrated(aside, { version: SCHEMA_VERSION, milliseconds: nowMs() - startedAtMs, copy });
}
