import { Database } from 'bun:sqlite';

import { ANALYTICS_VERSION, migrateAnalytics } from '../analytics/analyticsFile.ts';
import { isKnownDatabase, migrate, MIGRATIONS, SCHEMA_VERSION } from '../file/migrate.ts';
import { endsWriting, WriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from '../thread/threadClient.ts';
import { BackupError } from './backupError.ts';
import { SCHEMA_COLUMNS, type SchemaObject, strangeIn } from './compareSchema.ts';

/** What is in a copy of the databases. */
export interface CopyContents {
  readonly apis: number;
  readonly keys: number;
  readonly identities: number;
  readonly plans: number;
  readonly rootKeys: number;
  readonly auditEntries: number;
  /** Number of its last commit. */
  readonly lastCommit: number;
}

const CONTENTS = `SELECT
  (SELECT count(*) FROM apis WHERE deleted_at_ms IS NULL) AS apis,
  (SELECT count(*) FROM keys WHERE deleted_at_ms IS NULL) AS keys,
  (SELECT count(*) FROM identities) AS identities,
  (SELECT count(*) FROM plans) AS plans,
  (SELECT count(*) FROM root_keys WHERE revoked_at_ms IS NULL) AS rootKeys,
  (SELECT count(*) FROM audit_entries) AS auditEntries,
  max(
    coalesce((SELECT max(number) FROM ledger_log), 0),
    coalesce((SELECT CAST(value AS INTEGER) FROM installation WHERE name = 'applied_to'), 0)
  ) AS lastCommit`;

/**
 * Reads both databases of a copy from end to end, in a thread: a scheduled backup must not hold up requests. Fails when they are not
 * sound, or when this program does not know them. `name` is what messages call the copy.
 */
export async function inspectCopy(name: string, paths: CopyPaths): Promise<CopyContents> {
  try {
    return await inspect(name, paths);
  } catch (error) {
    if (error instanceof WriteFailure && endsWriting(error.kind)) throw damaged(name, error.message);
    throw error;
  }
}

interface CopyPaths {
  readonly path: string;
  readonly analyticsPath: string;
}

async function inspect(name: string, paths: CopyPaths): Promise<CopyContents> {
  const thread = await SqliteThread.start({ role: 'copier', ...paths }, () => {});
  try {
    const ask = async (sql: string): Promise<Record<string, unknown>> => {
      const [row] = await thread.call('query', { sql, params: [] });
      return { ...(row as object) };
    };
    const version = Number((await ask('PRAGMA user_version'))['user_version']);
    refuseNewer(name, 'database', { version, known: SCHEMA_VERSION });
    const { user_version: ofAnalytics } = await ask('PRAGMA analytics.user_version');
    refuseNewer(name, 'analytics', { version: Number(ofAnalytics), known: ANALYTICS_VERSION });
    refuseForeign(name, version, Number((await ask('PRAGMA application_id'))['application_id']));
    // Before anything is read of its tables: a table may be a view by now.
    const known = knownSchemas(version, Number(ofAnalytics));
    for (const database of ['main', 'analytics'] as const) {
      const found = await thread.call('query', {
        sql: `SELECT ${SCHEMA_COLUMNS} FROM ${database}.sqlite_schema`,
        params: [],
      });
      const strange = strangeIn(found as SchemaObject[], known[database]);
      if (strange !== null) throw changed(name, database, strange);
    }
    const { integrity_check: found } = await ask('PRAGMA integrity_check(1)');
    if (found !== 'ok') throw damaged(name, String(found));
    return (await ask(CONTENTS)) as unknown as CopyContents;
  } finally {
    await thread.close();
  }
}

function damaged(name: string, reason: string): BackupError {
  return new BackupError(`${name} holds a damaged database (${reason.replaceAll('\n', ' ')}). Use another backup.`);
}

interface KnownSchemas {
  readonly main: readonly SchemaObject[];
  readonly analytics: readonly SchemaObject[];
}

const madeSchemas = new Map<string, KnownSchemas>();

/** What databases of these versions have. Made once: the thread that answers requests does it for a scheduled backup. */
function knownSchemas(version: number, ofAnalytics: number): KnownSchemas {
  const name = `${version} ${ofAnalytics}`;
  const made = madeSchemas.get(name) ?? {
    main: schemaAfter((db) => migrate(db, { migrations: MIGRATIONS.slice(0, version) })),
    analytics: schemaAfter((db) => migrateAnalytics(db, 0, { upTo: ofAnalytics })),
  };
  madeSchemas.set(name, made);
  return made;
}

function schemaAfter(make: (db: Database) => void): readonly SchemaObject[] {
  using db = new Database(':memory:');
  make(db);
  return db.query<SchemaObject, []>(`SELECT ${SCHEMA_COLUMNS} FROM sqlite_schema`).all();
}

function changed(name: string, database: 'main' | 'analytics', strange: string): BackupError {
  const file = database === 'main' ? 'keystile.db' : 'analytics.db';
  return new BackupError(
    `${name} holds a schema that was changed by hand: ${file} ${strange}. Use another backup, or undo the change in the data folder and make the backup again.`,
  );
}

function refuseNewer(
  name: string,
  part: 'database' | 'analytics',
  { version, known }: { readonly version: number; readonly known: number },
): void {
  if (version <= known) return;
  const has = part === 'database' ? 'its database has' : 'its analytics have';
  throw new BackupError(
    `${name} was made by a newer program: ${has} schema version ${version}, and this program knows up to ${known}. ` +
      'Use the program that made it, or a newer one.',
  );
}

function refuseForeign(name: string, version: number, applicationId: number): void {
  if (isKnownDatabase(version, applicationId)) return;
  throw new BackupError(`${name} holds no database of Keystile. Name a file that keystile backup create has made.`);
}
