import { isKnownDatabase, SCHEMA_VERSION } from '../file/migrate.ts';
import { WriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from '../thread/threadClient.ts';
import { BackupError } from './backupError.ts';

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
    if (error instanceof WriteFailure && error.kind === 'broken') throw damaged(name, error.message);
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
    refuseUnknown(name, Number((await ask('PRAGMA user_version'))['user_version']), await ask('PRAGMA application_id'));
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

function refuseUnknown(name: string, version: number, ids: Record<string, unknown>): void {
  if (version > SCHEMA_VERSION)
    throw new BackupError(
      `${name} was made by a newer program: its database has schema version ${version}, and this program knows up to ${SCHEMA_VERSION}. ` +
        'Use the program that made it, or a newer one.',
    );
  if (!isKnownDatabase(version, Number(ids['application_id'])))
    throw new BackupError(`${name} holds no database of Keystile. Name a file that keystile backup create has made.`);
}
