import { readFileSync } from 'node:fs';

import { keystile, type Ran } from '../../process/cli/cliRun.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';

/** Settings of a command on a database of the shared server. */
export async function emptyDatabase(): Promise<Readonly<Record<string, string>>> {
  return onDatabase(await (await sharedServer()).createDatabase());
}

export function onDatabase(url: string): Readonly<Record<string, string>> {
  return { KEYSTILE_DATABASE_URL: url, KEYSTILE_ALLOW_FSYNC_OFF: 'on' };
}

/** Runs `keystile data ...`, which must succeed. An import may be of an export that was made without --move. */
export async function data(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> {
  const accepting = words[0] === 'import' ? ['--accept'] : [];
  const ran = await keystile(['data', ...words, ...accepting], { environment });
  if (ran.code !== 0) throw new Error(`keystile data ${words.join(' ')} ended with ${ran.code}: ${ran.err}`);
  return ran;
}

/** The rows of an export, without what every import adds: its entry in the audit log. */
export function rowsOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1, -1)
    .filter(
      (line) => !line.includes('"installation.import"') && !line.startsWith('["counters",{"name":"last_audit_entry"'),
    );
}

/** A database on which no node runs. */
export async function stoppedDatabase() {
  const server = await sharedServer();
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  await (await openStorage(url)).close();
  const query = (sql: string) => server.query(sql, name);
  const note = async () => (await query("SELECT value FROM installation WHERE name = 'moved'"))[0]?.['value'];
  const cutAll = () =>
    query(`SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
      WHERE datname = '${name}' AND pid <> pg_backend_pid()`);
  const installation = async () =>
    (await query("SELECT value FROM installation WHERE name = 'workspace_id'"))[0]?.['value'];
  return { url, environment: onDatabase(url), query, note, installation, cutAll };
}
