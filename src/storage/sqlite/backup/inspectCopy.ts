import { Database } from 'bun:sqlite';

import { repeatable } from '../../../core/errors.ts';
import { ANALYTICS_VERSION, migrateAnalytics } from '../analytics.ts';
import { BackupError } from './backupError.ts';
import { isKnownDatabase, migrate, MIGRATIONS, SCHEMA_VERSION } from '../file/migrate.ts';
import { endsWriting, WriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from '../thread/threadClient.ts';

/** The content of a copy of the databases. */
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
 * Reads both databases of a copy from end to end, in a thread, because a scheduled backup must not delay requests. Fails if they are
 * damaged, or if this program does not know them. `name` is the name of the copy in messages.
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
    // Checked before any table is read: a table may have become a view.
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

/** The schema of databases of these versions. Made once, because for a scheduled backup the thread that answers requests does it. */
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

/** One object of a schema, as SQLite keeps it. */
export interface SchemaObject {
  /** `table`, `index`, `view` or `trigger`. */
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  /** null: an index that belongs to a constraint. */
  readonly sql: string | null;
}

export const SCHEMA_COLUMNS = 'type, name, tbl_name, sql';

/** SQLite's statistics, which ANALYZE makes in any database. */
const STATISTICS: Readonly<Record<string, string>> = {
  sqlite_stat1: 'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
  sqlite_stat4: 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
};

/** The words and signs of a statement. Comments and spaces between them have no meaning, but those in quotes have. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[\w$\u0080-\uffff]+|\s+|[^]/g;
const MEANS_NOTHING = /^(?:--|\/\*|\s)/;

/**
 * What a database has that Keystile does not make, as a sentence without its subject; null = nothing. A trigger or a view runs the
 * statements of whoever made it, and a changed table can lack what the program relies on. The texts are compared as SQLite reads them, so
 * comments may differ.
 */
export function strangeIn(found: readonly SchemaObject[], known: readonly SchemaObject[]): string | null {
  const missing = new Map(known.filter(isOurs).map((each) => [nameOf(each), meaningOf(each)]));
  for (const each of found.filter(isOurs)) {
    const expected = missing.get(nameOf(each));
    if (expected === undefined) return `has the ${typeOf(each)} ${repeatable(each.name)}, which Keystile does not make`;
    if (expected !== meaningOf(each)) return `has another ${typeOf(each)} ${repeatable(each.name)} than Keystile makes`;
    missing.delete(nameOf(each));
  }
  const [absent] = missing.keys();
  return absent === undefined ? null : `lacks the ${absent}`;
}

function isOurs({ type, name, sql }: SchemaObject): boolean {
  return !(type === 'table' && STATISTICS[name] === sql);
}

function nameOf({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}

/** Statements read columns by name, so two tables count as the same if only the order of their columns differs. */
function meaningOf({ type, tbl_name, sql }: SchemaObject): string {
  const tokens = ((sql ?? '').match(TOKEN) ?? []).filter((token) => !MEANS_NOTHING.test(token));
  return [tbl_name, ...(type === 'table' ? inAnyOrder(tokens) : tokens)].join('\n');
}

/** A statement whose parts between the outer brackets, separated by commas, are sorted alphabetically. */
function inAnyOrder(tokens: readonly string[]): string[] {
  const parts: string[] = [];
  const around: string[] = [];
  let depth = 0;
  const part: string[] = [];
  for (const token of tokens) {
    if (token === ')') depth--;
    const endsPart = (token === ')' && depth === 0) || (token === ',' && depth === 1);
    if (endsPart) parts.push(part.splice(0).join('\n'));
    if (depth === 0) around.push(token);
    else if (!endsPart) part.push(token);
    if (token === '(') depth++;
  }
  return [...around, ...parts.toSorted().flatMap((each) => [each, ','])];
}

/** In a foreign file, this can be anything. */
function typeOf({ type }: SchemaObject): string {
  return ['table', 'index', 'view', 'trigger'].includes(type) ? type : 'object';
}
