import type { Database } from 'bun:sqlite';

import { RECORDS } from '../../../model/records.ts';
import { addedColumns } from '../../../model/stored.ts';
import { DIALECT, SCHEMA } from './schema.ts';

/**
 * Forward migrations. Entry N brings version N to N + 1; the first makes a new database. A released entry is never edited. A new version has a
 * fixture of itself (test/support/fixtures/databases).
 */
const BY_HAND: readonly string[] = [SCHEMA];
/** Columns that src/model declares for later versions. */
const COLUMNS = addedColumns(RECORDS, DIALECT);

export const MIGRATIONS: readonly string[] = Array.from(
  { length: Math.max(BY_HAND.length, ...COLUMNS.keys()) },
  (_, i) => (BY_HAND[i] ?? '') + (COLUMNS.get(i + 1) ?? ''),
);

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Every database of ours has this number, "KEYZ". Those of programs before 0.1.0 have another one, or none. */
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

export interface MigrateOptions {
  readonly migrations?: readonly string[];
  /** Called before each step: its number, and how many there are. */
  readonly onStep?: (step: number, steps: number) => void;
}

/** Brings an opened database to the newest version. All steps are one transaction: a failure or a crash leaves the version before. */
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
