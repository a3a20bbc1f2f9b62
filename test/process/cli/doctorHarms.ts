import { Database } from 'bun:sqlite';
import { chmodSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { EXPIRED, RENEWED } from '../../support/certificates.ts';
import { damageLastPage } from '../../support/damagePage.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { keystile } from './cliRun.ts';

const MIB = 2 ** 20;
const DAY_MS = 86_400_000;

/** No fixed port, and few enough connections for any limit of open files. */
export const CALM = { KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '100' };

/** Another program on a port that the system chooses. */
export function otherProgram(): Bun.Server<undefined> {
  return Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('not found', { status: 404 }) });
}

function change(data: string, sql: string, file = 'keystile.db'): void {
  const db = new Database(join(data, file));
  db.run(sql);
  db.close();
}

const PAUSED_WEBHOOK = `INSERT INTO webhooks (id, url, enabled, paused_at_ms, paused_because, secret, created_at_ms, revision)
  VALUES ('wh_1', 'https://a.example/x?token=s3cret', 1, 1, 'it answered 500', '', 1, 1)`;

const MOVED = `INSERT INTO installation (name, value) VALUES ('moved', '{"exportId":"export_1","atMs":0}')`;

/** What is done to a folder with which all is well; it answers settings of this run. */
export type Harm = (data: string) => Promise<Record<string, string>> | Record<string, string> | void;

/** Each check that a folder, a setting or a port of this machine can break, broken for real. */
export const HARMS: readonly (readonly [name: string, tells: string, command: string, Harm])[] = [
  ['configuration', 'KEYSTILE_STALE_MAX', 'serve --show-config', () => ({ KEYSTILE_STALE_MAX: 'soon' })],
  [
    'database',
    'keystile.db is damaged (SQLITE_NOTADB: file is not a database)',
    'backup restore FILE --force',
    (data) => writeFileSync(join(data, 'keystile.db'), 'no database'.repeat(500)),
  ],
  [
    'database',
    'keystile.db is damaged (Tree ',
    'backup restore FILE --force',
    (data) => void damageLastPage(join(data, 'keystile.db'), 'pockets'),
  ],
  [
    'database',
    'has no keystile.db, but commit number 1 was already confirmed',
    'backup restore FILE --force',
    (data) => rmSync(join(data, 'keystile.db')),
  ],
  [
    'database',
    'analytics.db is damaged (Tree ',
    'mkdir damaged && mv ',
    (data) => void damageLastPage(join(data, 'analytics.db'), 'key_verdicts'),
  ],
  [
    'database',
    'analytics.db cannot be opened (SQLITE_NOTADB',
    'mkdir damaged && mv ',
    (data) => writeFileSync(join(data, 'analytics.db'), 'no database'.repeat(500), { mode: 0o600 }),
  ],
  [
    'database',
    'analytics.db have schema version 99, and this program knows up to 2',
    'df -h',
    (data) => change(data, 'PRAGMA user_version = 99', 'analytics.db'),
  ],
  [
    'certificate',
    'cannot be read (ENOENT). Check the path, and that the user of the service may read it. The service does not start',
    'ls -l',
    (data) => tlsOf(data, { cert: SELF_SIGNED.cert, key: null }),
  ],
  [
    'certificate',
    'does not fit the certificate',
    'ls -l',
    (data) => tlsOf(data, { cert: SELF_SIGNED.cert, key: RENEWED.key }),
  ],
  ['certificate', 'expired at 2021-01-01', 'ls -l', (data) => tlsOf(data, EXPIRED)],
  [
    'backups',
    'No backup of this data folder was found in',
    'ls -l',
    (data) => {
      mkdirSync(`${data}.backups`);
      return { KEYSTILE_BACKUP_FOLDER: `${data}.backups` };
    },
  ],
  [
    'backups',
    'of KEYSTILE_BACKUP_FOLDER is in the data folder',
    'KEYSTILE_BACKUP_FOLDER=/mnt/backups keystile serve',
    (data) => ({ KEYSTILE_BACKUP_FOLDER: join(data, 'backups') }),
  ],
  [
    'backups',
    'The service does not start.',
    'KEYSTILE_BACKUP_FOLDER=/mnt/backups keystile serve',
    (data) => {
      for (const name of ['keystile.db', 'commit-number']) rmSync(join(data, name));
      return { KEYSTILE_BACKUP_FOLDER: join(data, 'backups') };
    },
  ],
  [
    'backups',
    'cannot be used (ENOENT). Check that its disk is mounted',
    'backup create',
    (data) => ({ KEYSTILE_BACKUP_FOLDER: `${data}.backups` }),
  ],
  [
    'backups',
    'cannot be used (ENAMETOOLONG)',
    'backup create',
    () => ({ KEYSTILE_BACKUP_FOLDER: `/${'x'.repeat(300)}` }),
  ],
  ['data-folder', 'keystile.db (mode 644)', 'chmod -R go-rwx', openToOthers],
  ['data-folder', 'There is no data folder', 'keystile serve', (data) => rmSync(data, { recursive: true })],
  [
    'schema',
    'schema version 99, and this program is for 1',
    'keystile --version',
    (data) => change(data, 'PRAGMA user_version = 99'),
  ],
  ['schema', 'before 0.1.0', 'keystile import', (data) => change(data, 'PRAGMA application_id = 7')],
  ['copied-database', 'is a copy', 'KEYSTILE_ACCEPT_LOST_COMMITS', (data) => rmSync(join(data, 'commit-number'))],
  ['moved', 'was exported with --move at 1970-01-01 00:00:00 UTC', 'data release', (data) => change(data, MOVED)],
  [
    'tls',
    '0.0.0.0 without TLS',
    'KEYSTILE_HOST=127.0.0.1',
    () => ({ KEYSTILE_HOST: '0.0.0.0', KEYSTILE_VERIFY_AUTH: 'required' }),
  ],
  ['webhooks', 'a.example is paused (it answered 500)', 'webhook test wh_1', (data) => change(data, PAUSED_WEBHOOK)],
  [
    'working-root-key',
    'None of the 1 root keys works',
    'root-key create',
    (data) => change(data, 'UPDATE root_keys SET revoked_at_ms = 1'),
  ],
  ['expiring-root-keys', 'expires in 24 hours', 'root-key create', withRootKeyUntilTomorrow],
  ['lost-commits', 'KEYSTILE_ACCEPT_LOST_COMMITS is on', 'unset', () => ({ KEYSTILE_ACCEPT_LOST_COMMITS: 'on' })],
  ['write-ahead-log', 'grown to 300 MiB', 'fuser', withLongLog],
  [
    'machine-clock',
    'behind the database',
    'timedatectl',
    (data) => change(data, `UPDATE audit_entries SET at_ms = ${Date.now() + DAY_MS}`),
  ],
];

/** Files beside the data folder, and the settings that name them. */
export function tlsOf(data: string, { cert, key }: { cert: string; key: string | null }): Record<string, string> {
  const files = { KEYSTILE_TLS_CERT: `${data}.crt`, KEYSTILE_TLS_KEY: `${data}.key` };
  writeFileSync(files.KEYSTILE_TLS_CERT, cert);
  if (key !== null) writeFileSync(files.KEYSTILE_TLS_KEY, key, { mode: 0o600 });
  return files;
}

function openToOthers(data: string): void {
  chmodSync(data, 0o755);
  chmodSync(join(data, 'keystile.db'), 0o644);
}

async function withRootKeyUntilTomorrow(data: string): Promise<Record<string, string>> {
  const expires = String(Date.now() + DAY_MS);
  await keystile(['root-key', 'create', '--name', 'ends', '--right', '*', '--expires', expires], {
    environment: { ...CALM, KEYSTILE_DATA: data },
  });
  return {};
}

/** A hole in the file takes no space. */
function withLongLog(data: string): void {
  const path = join(data, 'analytics.db-wal');
  writeFileSync(path, '');
  chmodSync(path, 0o600);
  truncateSync(path, 300 * MIB);
}
