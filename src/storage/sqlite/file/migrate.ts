import type { Database } from 'bun:sqlite';

import { RECORDS } from '../../../model/records.ts';
import { addedColumns } from '../../../model/columns.ts';
import type { Tell } from '../../port/events.ts';
import { FolderError } from './dataFolder.ts';
import { copyBeforeMigration, removeUnlessDamaged, tellMigrated, tellStep } from './copyBeforeMigration.ts';
import { DIALECT, SCHEMA } from './schema.ts';
import { toWriteFailure } from './writeFailure.ts';

/**
 * Forward migrations. Entry N migrates version N to N + 1; the first makes a new database. A released entry is never edited. Each new
 * version gets a fixture (test/support/fixtures/databases).
 */
const BY_HAND: readonly string[] = [SCHEMA];
/** Columns that src/model declares for later versions. */
const COLUMNS = addedColumns(RECORDS, DIALECT);

export const MIGRATIONS: readonly string[] = Array.from(
  { length: Math.max(BY_HAND.length, ...COLUMNS.keys()) },
  (_, i) => (BY_HAND[i] ?? '') + (COLUMNS.get(i + 1) ?? ''),
);

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Every keystile.db has this number, "KEYZ". Databases of programs before 0.1.0 have another one, or none. */
const APPLICATION_ID = 0x4b45595a;

export function readSchemaVersion(db: Database): number {
  return (db.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** Programs before 0.1.0 used the same version numbers for other tables. */
export function isBeforeFirstRelease(db: Database): boolean {
  const { application_id } = db.query('PRAGMA application_id').get() as { application_id: number };
  return readSchemaVersion(db) > 0 && application_id !== APPLICATION_ID;
}

/** Whether a database with these numbers was made by a released program. */
export function isKnownDatabase(version: number, applicationId: number): boolean {
  return version > 0 && applicationId === APPLICATION_ID;
}

interface MigrateOptions {
  readonly migrations?: readonly string[];
  /** Called before each step with its number and the number of steps. */
  readonly onStep?: (step: number, steps: number) => void;
}

/**
 * Migrates an opened database to the newest version. All steps are one transaction: after a failure or a crash, it still has the former
 * version.
 */
export function migrate(db: Database, { migrations = MIGRATIONS, onStep = () => {} }: MigrateOptions = {}): void {
  const from = readSchemaVersion(db);
  if (from >= migrations.length) return;
  db.transaction(() => {
    for (const [i, migration] of migrations.slice(from).entries()) {
      onStep(i + 1, migrations.length - from);
      db.run(migration);
    }
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    db.run(`PRAGMA user_version = ${migrations.length}`);
  }).immediate();
}

interface UpgradeOptions {
  readonly path: string;
  readonly nowMs: () => number;
  readonly tell: Tell;
  /** Prepares analytics.db. If this throws, keystile.db stays unchanged too. */
  readonly prepareAnalytics: () => PreparedAnalytics;
}

/** analytics.db as this program needs it, in a transaction that is not committed yet. */
export interface PreparedAnalytics {
  /** Undoes what is prepared if it throws. The argument says whether this start has migrated keystile.db. */
  readonly commit: (isDatabaseMigrated: boolean) => void;
  readonly undo: () => void;
}

/** Makes the tables of a new database, or migrates an older one to the version of this program. */
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
  // The analytics are committed last. After a crash before that, the next start migrates them. In the other order, no program could use
  // both files, because the older program refuses newer analytics.
  analytics.commit(version > 0 && version < SCHEMA_VERSION);
}

function upgradeFrom(version: number, db: Database, { path, nowMs, tell }: UpgradeOptions): void {
  const aside = { path, version, nowMs, tell };
  const copy = copyBeforeMigration(db, aside);
  const startedAtMs = nowMs();
  try {
    migrate(db, { onStep: (step, steps) => tellStep(aside, step, steps) });
  } catch (error) {
    const kept = removeUnlessDamaged(copy, error);
    if (error instanceof FolderError) throw error;
    const { kind, message } = toWriteFailure(error);
    throw new FolderError(
      `The database ${path} could not be migrated from schema version ${version} to ${SCHEMA_VERSION} ` +
        `(${message}). It is unchanged, and the older program can use it.${kept}`,
      kind === 'full',
    );
  }
  tellMigrated(aside, { version: SCHEMA_VERSION, milliseconds: nowMs() - startedAtMs, copy });
}
