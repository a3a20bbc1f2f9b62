import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { keystile } from './cliRun.ts';
import { CALM, otherProgram, HARMS, tlsOf, type Harm } from './doctorHarms.ts';
import { type Examined, examined, snapshot, toExamined } from './doctorRun.ts';

// Each case copies a folder and opens its database: a busy machine takes longer.
setDefaultTimeout(20_000);

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
      expect(found.find('queue')).toMatchObject({ result: 'not-checked', because: 'no server is running' });
      expect(found.find('backups')).toMatchObject({ because: 'no backups are scheduled (KEYSTILE_BACKUP_FOLDER)' });
      expect(found.find('standby')).toMatchObject({ because: 'the database is embedded' });
      expect(found.find('certificate')).toMatchObject({
        because: 'the service has no certificate (KEYSTILE_TLS_CERT)',
      });
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

  test('a setting that was given as a flag is named by the flag', async () => {
    await onCopy(async (data) => {
      const words = ['doctor', '--json', '--backup-folder', join(data, 'backups')];
      const found = toExamined(await keystile(words, { environment: { ...CALM, KEYSTILE_DATA: data } }));
      expect(found.find('backups')).toMatchObject({
        // What to do stands in `fix` alone.
        text: expect.stringMatching(/ of --backup-folder is in the data folder \S+\.$/),
        fix: expect.stringMatching(/^Set --backup-folder to /),
      });
    });
  });

  test('a setting that was removed is advice', async () => {
    const found = await examinedAfter(() => ({ KEYSTILE_HTTP_SERVER: 'runtime' }));
    expect([found.code, found.with('problem'), found.with('advice')]).toEqual([0, [], ['configuration']]);
    expect(found.find('configuration')).toMatchObject({
      text: 'KEYSTILE_HTTP_SERVER is ignored: the service always uses its own HTTP server. Remove this variable.',
    });
  });

  test('commands act on what was examined, also when flags said where that is', async () => {
    await onCopy(async (data) => {
      const envFile = join(data, 'a file.env');
      writeFileSync(envFile, '');
      const { KEYSTILE_BACKUP_FOLDER: _folder, ...environment } = { KEYSTILE_BACKUP_FOLDER: '', ...CALM };
      const byFlags = ['doctor', '--json', '--data', data, '--env-file', envFile, '--verify-auth', 'open'];
      const found = toExamined(await keystile([...byFlags, '--host', '0.0.0.0'], { environment }));
      const told = found
        .with('problem')
        .concat(found.with('advice'))
        .map((name) => found.find(name) as { command: string });
      const ofKeystile = told.map(({ command }) => command).filter((command) => /(?:^| )keystile /.test(command));
      expect(ofKeystile.length).toBeGreaterThan(0);
      expect(ofKeystile.join()).toContain('KEYSTILE_HOST=127.0.0.1 keystile serve --env-file');
      for (const command of ofKeystile) expect(command).toEndWith(` --env-file '${envFile}' --data ${data}`);
    });
    const url = 'postgres://keystile:s3cret@127.0.0.1:1/x';
    const shared = toExamined(await keystile(['doctor', '--json', '--database-url', url], { environment: CALM }));
    expect(shared.find('database')).toMatchObject({ command: `psql postgres://... -c 'select pg_is_in_recovery()'` });
    expect(JSON.stringify(shared)).not.toContain('s3cret');
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
      expect(out).toStartWith(
        'ok           configuration         Every setting is known and has a valid value, and none was removed.\n',
      );
      expect(out).toContain('not checked  queue                 because no server is running\n');
      expect(out).toContain(
        'problem      lost-commits          KEYSTILE_ACCEPT_LOST_COMMITS is on: a start accepts a restored or damaged database without a warning.\n' +
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
