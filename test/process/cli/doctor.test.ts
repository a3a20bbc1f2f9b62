import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, cpSync, writeFileSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { hostname } from 'node:os';

import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { keystile } from './cliRun.ts';
import { CALM, otherProgram, HARMS, tlsOf, type Harm } from './doctorHarms.ts';
import { type Examined, examined, snapshot, toExamined } from './doctorRun.ts';
import { DataFolder } from '../../../src/storage/sqlite/file/dataFolder.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { ROOT_KEY, Server } from '../server.ts';

describe('the doctor', () => {
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
      expect(few.find('open-files')).toMatchObject({
        command: 'ulimit -n 21140',
        text: expect.stringContaining('840'),
      });
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
});

// Everything is waited for, and nothing takes a given time: a busy machine takes longer.
setDefaultTimeout(30_000);

/** Of a database that nodes share, and of a service with TLS. */
const NOT_HERE = ['database-version', 'standby', 'database-connections', 'certificate', 'transactions'];

describe('keystile doctor beside a server', () => {
  let folder: TempFolder;
  let server: Server;
  let here: Record<string, string>;
  beforeAll(async () => {
    folder = new TempFolder();
    server = await Server.start(folder, {
      settings: { KEYSTILE_ACCEPT_LOST_COMMITS: 'on', KEYSTILE_BACKUP_FOLDER: folder.join('backups') },
    });
    here = {
      KEYSTILE_DATA: folder.join('data'),
      KEYSTILE_PORT: String(server.port),
      KEYSTILE_METRICS_PORT: '0',
      KEYSTILE_MAX_CONNECTIONS: '100',
    };
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('the server tells what it finds about itself, by its own settings, and needs no root key for it', async () => {
    const found = await examined(here);
    // The setting is not in the environment of this command.
    expect([found.code, found.with('problem'), found.with('advice')]).toEqual([1, ['lost-commits'], ['root-key']]);
    expect(found.with('not-checked')).toEqual(NOT_HERE);
    expect(found.find('lost-commits')).toMatchObject({ command: 'unset KEYSTILE_ACCEPT_LOST_COMMITS' });
  });

  test('with the URL of another service, nothing of this machine is told, and it is a problem that nothing answers there', async () => {
    using other = new TempFolder();
    const far = { ...here, KEYSTILE_DATA: other.path, KEYSTILE_ROOT_KEY: ROOT_KEY };
    const found = await examined({ ...far, KEYSTILE_URL: server.url });
    // Of the service: its own setting. Of this machine: that the port is taken.
    expect([found.with('problem'), found.find('port')?.result]).toEqual([['lost-commits'], 'not-checked']);
    expect(found.find('port')).toMatchObject({ because: 'this is checked only on the machine of the service' });
    using taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('something else') });
    for (const [url, reason] of [
      ['http://127.0.0.1:1', 'Nothing answers at http://127.0.0.1:1.'],
      [taken.url.origin, `Another program answers at ${taken.url.origin}, not Keystile.`],
    ] as const) {
      // Also beside the data folder of a service that runs.
      for (const data of [other.path, folder.join('data')]) {
        const absent = await examined({ ...far, KEYSTILE_DATA: data, KEYSTILE_URL: url });
        expect([absent.code, absent.with('problem'), absent.with('advice')]).toEqual([1, ['readiness'], []]);
        expect(absent.find('readiness')).toMatchObject({ text: expect.stringContaining(reason) });
        expect(absent.find('disk')).toMatchObject({ because: `no Keystile answers at ${url}` });
      }
    }
  });

  test('with the URL of the service here, everything is examined', async () => {
    for (const url of [server.url, `http://localhost:${server.port}`]) {
      const found = await examined({ ...here, KEYSTILE_URL: url });
      expect([found.with('problem'), found.with('not-checked')]).toEqual([['lost-commits'], NOT_HERE]);
    }
  });

  test('its backups are told as it finds them, and by the files once it is stopped', async () => {
    const backups = folder.join('backups');
    const made = (): string[] =>
      existsSync(backups) ? readdirSync(backups).filter((name) => name.endsWith('.backup')) : [];
    await until('a backup is there', () => made().length > 0);
    expect((await examined(here)).find('backups')?.result).toBe('ok');
    renameSync(backups, `${backups}.away`);
    try {
      // A status is shared for a second.
      let found = await examined(here);
      await until('the status is new', async () => (found = await examined(here)).with('problem').includes('backups'));
      expect(found.find('backups')).toMatchObject({ text: expect.stringContaining('cannot be used (ENOENT)') });
    } finally {
      renameSync(`${backups}.away`, backups);
    }
    // The same files, as if the server were stopped.
    using stopped = new TempFolder();
    cpSync(folder.join('data'), stopped.join('data'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
    const there = { ...here, KEYSTILE_DATA: stopped.join('data'), KEYSTILE_PORT: '0' };
    expect((await examined({ ...there, KEYSTILE_BACKUP_FOLDER: backups })).find('backups')?.result).toBe('ok');
  });

  test('it is found by its data folder, whichever port is configured here', async () => {
    const found = await examined({ ...here, KEYSTILE_PORT: '0' });
    expect([found.with('not-checked'), found.find('port')?.result]).toEqual([NOT_HERE, 'ok']);
  });

  test('its port is taken for a service on another folder', async () => {
    using other = new TempFolder();
    const found = await examined({ ...here, KEYSTILE_DATA: other.path });
    expect(found.with('problem')).toEqual(['port']);
    expect(found.find('port')).toMatchObject({
      text: expect.stringContaining('another Keystile, on another database'),
    });
    expect(found.find('queue')).toMatchObject({ because: 'no server is running' });
  });

  test('with its URL alone, its status needs a root key with the right', async () => {
    using other = new TempFolder();
    const far = { ...here, KEYSTILE_DATA: other.join('none'), KEYSTILE_URL: server.url };
    expect((await examined(far)).find('queue')).toMatchObject({
      because: 'only the running service knows this, and it tells it only to a root key: set KEYSTILE_ROOT_KEY',
    });
    expect((await examined({ ...far, KEYSTILE_ROOT_KEY: ROOT_KEY })).find('queue')).toMatchObject({ result: 'ok' });
    const refused = await examined({ ...far, KEYSTILE_ROOT_KEY: 'root_that_nobody_knows_00000' });
    expect([refused.code, refused.with('problem')]).toEqual([1, ['root-key-here']]);
    expect(refused.find('root-key-here')).toMatchObject({
      text: `The root key is not valid at ${server.url}, so the service does not tell what it found.`,
    });
    expect(refused.find('queue')).toMatchObject({ because: 'the service tells this only to a valid root key' });
    const { key } = await server.ok('/v1/rootKeys.createRootKey', { name: 'weak', permissions: ['api.*.read_api'] });
    const weak = await examined({ ...far, KEYSTILE_ROOT_KEY: key as string });
    expect([weak.code, weak.find('queue')]).toMatchObject([
      0,
      {
        because:
          'the running service does not tell its status to this root key, which lacks the right service.*.read_status',
      },
    ]);
  });

  test('a server that does not answer is a problem, and its process is named', async () => {
    server.child.signal('SIGSTOP');
    try {
      const found = await examined(here);
      expect(found.with('problem')).toEqual(['readiness']);
      expect(found.find('readiness')).toMatchObject({
        text: expect.stringContaining(`Process ${server.child.pid} owns the data folder`),
        command: `kill ${server.child.pid} && keystile serve`,
      });
      expect(found.find('queue')).toMatchObject({ because: 'the server does not answer' });
      expect(found.find('working-root-key')?.result).toBe('ok');
    } finally {
      server.child.signal('SIGCONT');
    }
  });
});

test('after a crash, the log that was left is read, and no file is changed', async () => {
  using folder = new TempFolder();
  const data = folder.join('data');
  {
    await using server = await Server.start(folder);
    await server.createKey({});
    await server.child.kill9();
  }
  const before = snapshot(data);
  expect(before.some((each) => /^keystile\.db-wal \d+ [\d.]+ [1-9]/.test(each))).toBe(true);
  const found = await examined({ KEYSTILE_DATA: data, KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0' });
  expect([found.code, found.with('problem')]).toEqual([0, []]);
  expect([found.find('schema')?.result, found.find('working-root-key')?.result]).toEqual(['ok', 'ok']);
  expect(found.find('readiness')).toMatchObject({ because: 'no server is running' });
  expect(snapshot(data)).toEqual(before);
});

describe('an owner of the folder that this program does not know', () => {
  const QUIET = { KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '100' };

  /** Owns a folder, and answers everything with the same text, as another version might. */
  async function owned(answer: object, host: string): ReturnType<typeof examined> {
    using temporary = new TempFolder();
    const path = temporary.join('data');
    const control = temporary.join('control.sock');
    const fetch = (): Response => Response.json(answer);
    const socket = Bun.serve({ unix: control, fetch });
    const http = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
    const owner = { pid: process.pid, host, startedAt: 'now', control, url: `http://127.0.0.1:${http.port}` };
    const folder = DataFolder.own(path, owner);
    try {
      return await examined({ ...QUIET, KEYSTILE_DATA: path });
    } finally {
      folder.release();
      await Promise.all([socket.stop(true), http.stop(true)]);
    }
  }

  test('a server of another version is said to be one, and the rest is checked', async () => {
    const found = await owned({ status: 'ok' }, hostname());
    expect(found.with('problem')).toEqual([]);
    expect(found.find('queue')).toMatchObject({
      because: 'the running service has another version, which does not tell this',
    });
    expect(found.find('readiness')).toMatchObject({ because: 'the running service has another version' });
    expect(found.find('data-folder')?.result).toBe('ok');
  });

  test('reasons why it is not ready are repeated', async () => {
    const found = await owned({ status: 'ok', reasons: ['The disk is full.'] }, hostname());
    expect(found.find('readiness')).toMatchObject({
      result: 'problem',
      text: 'The running service is not ready: The disk is full.',
      command: expect.stringMatching(/^curl -s 'http:.*\/v1\/readiness\?for=exact'$/),
    });
  });

  test('a server on another machine is not looked for on this one', async () => {
    const found = await owned({ status: 'ok' }, 'far.example');
    const because = `process ${process.pid} on far.example owns the data folder: run this command on that machine`;
    expect(found.find('readiness')).toMatchObject({ result: 'not-checked', because });
    expect(found.find('queue')).toMatchObject({ because });
  });
});
