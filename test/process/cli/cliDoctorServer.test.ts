import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { hostname } from 'node:os';

import { DataFolder } from '../../../src/storage/sqlite/file/dataFolder.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { TempFolder } from '../process.ts';
import { ROOT_KEY, Server } from '../server.ts';
import { examined, snapshot } from './doctorRun.ts';

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
  const CALM = { KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '100' };

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
      return await examined({ ...CALM, KEYSTILE_DATA: path });
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
