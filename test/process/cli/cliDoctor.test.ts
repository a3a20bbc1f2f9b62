import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { EXPIRED, RENEWED } from '../../support/certificates.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { keystile } from './cliRun.ts';
import { type Examined, examined, snapshot, toExamined } from './doctorRun.ts';

// Each case copies a folder and opens its database: a busy machine takes longer.
setDefaultTimeout(20_000);

const MIB = 2 ** 20;
const DAY_MS = 86_400_000;

/** No fixed port, and few enough connections for any limit of open files. */
const CALM = { KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '100' };

/** Another program on a port that the system chooses. */
function otherProgram(): Bun.Server<undefined> {
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
type Harm = (data: string) => Promise<Record<string, string>> | Record<string, string> | void;

/** Each check that a folder, a setting or a port of this machine can break, broken for real. */
const HARMS: readonly (readonly [name: string, tells: string, command: string, Harm])[] = [
  ['configuration', 'KEYSTILE_STALE_MAX', 'serve --show-config', () => ({ KEYSTILE_STALE_MAX: 'soon' })],
  ['database', 'is damaged', 'df -h', (data) => writeFileSync(join(data, 'keystile.db'), 'no database'.repeat(500))],
  [
    'database',
    'analytics.db cannot be opened (SQLITE_NOTADB',
    'df -h',
    (data) => writeFileSync(join(data, 'analytics.db'), 'no database'.repeat(500), { mode: 0o600 }),
  ],
  [
    'database',
    'analytics.db have schema version 99, and this program knows up to 1',
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
    'backup create',
    (data) => ({ KEYSTILE_BACKUP_FOLDER: join(data, 'backups') }),
  ],
  [
    'backups',
    'The service does not start like this.',
    'backup create',
    (data) => {
      rmSync(join(data, 'keystile.db'));
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
    'npm install',
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
function tlsOf(data: string, { cert, key }: { cert: string; key: string | null }): Record<string, string> {
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

let made: TempFolder;
beforeAll(async () => {
  made = new TempFolder();
  const environment = { ...CALM, KEYSTILE_DATA: made.join('data') };
  expect((await keystile(['root-key', 'create', '--name', 'first', '--right', '*'], { environment })).code).toBe(0);
});
afterAll(() => made[Symbol.dispose]());

/** A copy of the folder with which all is well, and `keystile doctor` on it after `harm`. */
async function onCopy<T>(work: (data: string) => Promise<T>): Promise<T> {
  using folder = new TempFolder();
  const data = folder.join('data');
  cpSync(made.join('data'), data, { recursive: true });
  chmodSync(data, 0o700);
  return await work(data);
}

function examinedAfter(harm: Harm): Promise<Examined> {
  return onCopy(async (data) => {
    const settings = (await harm(data)) ?? {};
    return examined({ ...CALM, KEYSTILE_DATA: data, ...settings });
  });
}

describe('keystile doctor without a server', () => {
  test('where all is well, it finds nothing, says why some checks were not made, and changes no file', async () => {
    await onCopy(async (data) => {
      const before = snapshot(data);
      const found = await examined({ ...CALM, KEYSTILE_DATA: data });
      expect([found.code, found.isOk, found.with('problem'), found.with('advice')]).toEqual([0, true, [], []]);
      expect(found.find('queue')).toMatchObject({ result: 'not-checked', because: 'no server runs' });
      expect(found.find('backups')).toMatchObject({ because: 'no backups are scheduled (KEYSTILE_BACKUP_FOLDER)' });
      expect(found.find('standby')).toMatchObject({ because: 'the database is embedded' });
      expect(found.with('ok').length).toBeGreaterThanOrEqual(16);
      expect(snapshot(data)).toEqual(before);
    });
  });

  test.each(HARMS)('%s: %s', async (name, tells, command, harm) => {
    const found = await examinedAfter(harm);
    expect([found.code, found.isOk, found.with('problem')]).toEqual([1, false, [name]]);
    expect(found.find(name)).toMatchObject({
      text: expect.stringContaining(tells),
      fix: expect.stringMatching(/\.$/),
      command: expect.stringContaining(command),
    });
    expect(JSON.stringify(found.find('webhooks'))).not.toContain('s3cret');
  });

  test('a certificate with its key is well, and a key that others can read is advice', async () => {
    const withMode = (mode: number): Promise<Examined> =>
      examinedAfter((data) => {
        const files = tlsOf(data, SELF_SIGNED);
        chmodSync(`${data}.key`, mode);
        return files;
      });
    expect((await withMode(0o600)).find('certificate')?.result).toBe('ok');
    const found = await withMode(0o644);
    expect([found.code, found.with('advice')]).toEqual([0, ['certificate']]);
    expect(found.find('certificate')).toMatchObject({ command: expect.stringMatching(/^chmod 600 .*\.key$/) });
  });

  test('a port of another program is told with one that is free', async () => {
    const other = otherProgram();
    try {
      const port = String(other.port);
      const found = await examinedAfter(() => ({ KEYSTILE_PORT: port, KEYSTILE_METRICS_PORT: port }));
      expect([found.code, found.with('problem'), found.with('advice')]).toEqual([1, ['port'], ['metrics-port']]);
      expect(found.find('port')).toMatchObject({
        text: `Port ${port} is in use by another program (it does not answer like Keystile).`,
        command: expect.stringMatching(/^KEYSTILE_PORT=\d+ keystile serve$/),
      });
    } finally {
      await other.stop(true);
    }
  });

  test('an address that is not of this machine cannot be listened on', async () => {
    const settings = { KEYSTILE_HOST: '192.0.2.1', KEYSTILE_PORT: '7', KEYSTILE_PUBLIC_URL: 'https://keys.example' };
    const found = await examinedAfter(() => ({ ...settings, KEYSTILE_MAX_CONNECTIONS: '100' }));
    expect(found.with('problem')).toEqual(['port']);
    expect(found.find('port')).toMatchObject({ text: expect.stringContaining('cannot listen on 192.0.2.1:7') });
  });

  test('too few open files are advice, and a problem when the service would not start', async () => {
    const under = (limit: number): Promise<Examined> =>
      onCopy(async (data) => {
        const command = ['sh', '-c', `ulimit -n ${limit} && exec "$0" "$@"`, ...PROGRAM, 'doctor', '--json'];
        const settings = { ...CALM, KEYSTILE_MAX_CONNECTIONS: '20000', KEYSTILE_DATA: data };
        const { code, stdout, stderr } = await runToEnd({ command, settings });
        return toExamined({ code, out: stdout, err: stderr });
      });
    const few = await under(1024);
    expect([few.code, few.with('advice')]).toEqual([0, ['open-files']]);
    expect(few.find('open-files')).toMatchObject({ command: 'ulimit -n 21140', text: expect.stringContaining('840') });
    const tooFew = await under(150);
    expect([tooFew.code, tooFew.with('problem')]).toEqual([1, ['open-files']]);
  });

  test('a wrong configuration hides no check, and says of each why it was not made', async () => {
    const found = await examinedAfter(() => ({ KEYSTILE_STALE_MAX: 'soon', KEYSTILE_PROT: '1' }));
    expect(found.find('configuration')).toMatchObject({
      text: expect.stringContaining('Unknown setting KEYSTILE_PROT'),
    });
    expect(found.find('disk')).toMatchObject({ result: 'not-checked', because: 'the configuration is wrong' });
  });

  test('a log without its index, which only a start can read, is said to be one and not touched', async () => {
    await onCopy(async (data) => {
      writeFileSync(join(data, 'keystile.db-wal'), new Uint8Array(32), { mode: 0o600 });
      const before = snapshot(data);
      const found = await examined({ ...CALM, KEYSTILE_DATA: data });
      expect([found.code, found.find('schema')]).toMatchObject([
        0,
        { result: 'not-checked', because: expect.stringContaining('cannot be read without changing it') },
      ]);
      expect(snapshot(data)).toEqual(before);
    });
  });

  test('a person sees a line for each check, below it what to do, and a summary', async () => {
    await onCopy(async (data) => {
      const environment = { ...CALM, KEYSTILE_DATA: data, KEYSTILE_ACCEPT_LOST_COMMITS: 'on' };
      const { code, out, err } = await keystile(['doctor'], { environment });
      expect([code, err]).toEqual([1, '']);
      const pad = ' '.repeat(35);
      expect(out).toStartWith('ok           configuration         Every setting is known and has a valid value.\n');
      expect(out).toContain('not checked  queue                 because no server runs\n');
      expect(out).toContain(
        'problem      lost-commits          KEYSTILE_ACCEPT_LOST_COMMITS is on: a start accepts a restored or damaged database without a word.\n' +
          `${pad}Remove the setting. It is meant for the one start after a restore.\n` +
          `${pad}$ unset KEYSTILE_ACCEPT_LOST_COMMITS\n`,
      );
      expect(out).toMatch(/\n\n1 problem, 0 with advice, \d+ ok, \d+ not checked\.\n$/);
    });
  });

  test('a flag that does not exist is refused before anything is looked at', async () => {
    expect(await keystile(['doctor', '--fix'], { environment: CALM })).toMatchObject({ code: 2, out: '' });
    expect(await keystile(['doctor', 'all'], { environment: CALM })).toMatchObject({ code: 2, out: '' });
  });
});
