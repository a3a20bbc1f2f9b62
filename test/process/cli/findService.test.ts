import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';

import { DataFolder } from '../../../src/storage/sqlite/file/dataFolder.ts';
import { keystile, SILENT_PORT, withoutServer, withServer } from './cliRun.ts';
import { TempFolder, runToEnd, PROGRAM } from '../process.ts';
import { Server } from '../server.ts';

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

const ROOT_KEY = 'root_for_services_that_are_not_there';

describe('which service a command uses', () => {
  test('with KEYSTILE_URL only that server is used, and it is an error when it does not answer', async () => {
    await using here = await withoutServer();
    const environment = { KEYSTILE_URL: `http://user:secret@127.0.0.1:${SILENT_PORT}` };
    const { code, out, err } = await here.run(['api', 'list'], { environment });
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      'Nothing answers at http://127.0.0.1:1 (ECONNREFUSED). Check that the server is running and that KEYSTILE_URL is right.\n',
    );
  });

  test('an error names the flag in place of the setting that was not given', async () => {
    using folder = new TempFolder();
    const environment = { HOME: folder.path, KEYSTILE_ROOT_KEY: ROOT_KEY };
    const url = `http://127.0.0.1:${SILENT_PORT}`;
    for (const words of [
      ['login', 'bad'],
      ['api', 'list'],
    ])
      expect((await keystile([...words, '--url', url], { environment })).err).toBe(
        'Nothing answers at http://127.0.0.1:1 (ECONNREFUSED). Check that the server is running and that --url is right.\n',
      );
    const none = folder.join('none');
    expect((await keystile(['data', 'export', folder.join('a'), '--move', '--data', none], { environment })).err).toBe(
      `There is no database in ${none}. Set --data to the data folder of the service.\n`,
    );
  });

  test('KEYSTILE_URL, and --url before it, lead to a server whose data folder is somewhere else', async () => {
    await using server = await withServer();
    const url = `http://127.0.0.1:${server.environment['KEYSTILE_PORT']}`;
    const environment = { KEYSTILE_URL: `http://127.0.0.1:${SILENT_PORT}`, KEYSTILE_ROOT_KEY: server.rootKey };
    const words = ['api', 'create', 'payments', '--url', `${url}/`];
    expect((await keystile(words, { environment })).code).toBe(0);
    expect(await keystile(['api', 'list'], { environment: { ...environment, KEYSTILE_URL: url } })).toMatchObject({
      code: 0,
    });
  });

  test('without a server and a database the command fails and creates no database', async () => {
    using folder = new TempFolder();
    const data = folder.join('data');
    const environment = { KEYSTILE_DATA: data, KEYSTILE_PORT: SILENT_PORT, KEYSTILE_ROOT_KEY: ROOT_KEY };
    for (const words of [
      ['api', 'list'],
      ['key', 'verify', 'some_key'],
    ]) {
      const { code, err } = await keystile(words, { environment });
      expect(code).toBe(1);
      expect(err).toContain(`No server answers at http://127.0.0.1:1, and there is no database in ${data}.\n`);
    }
    for (const words of [
      ['root-key', 'list'],
      ['root-key', 'revoke', 'rk_1', '--yes'],
    ]) {
      const { code, err } = await keystile(words, { environment });
      expect([code, err]).toEqual([
        1,
        `There is no database in ${data}. Set KEYSTILE_DATA to the data folder of the service.\n`,
      ]);
    }
    expect(existsSync(data)).toBe(false);
    expect((await keystile(['root-key', 'create', '--right', '*'], { environment })).code).toBe(0);
    expect(existsSync(data)).toBe(true);
  });

  test('the error names the owner of a folder that listens at another address', async () => {
    using folder = new TempFolder();
    const environment = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: SILENT_PORT, KEYSTILE_ROOT_KEY: ROOT_KEY };
    await keystile(['root-key', 'create', '--right', '*'], { environment });
    const owned = DataFolder.own(folder.join('data'), {
      pid: 4711,
      host: hostname(),
      startedAt: '2026-01-01T00:00:00.000Z',
      control: '/nowhere',
      url: null,
    });
    const { code, err } = await keystile(['api', 'list'], { environment });
    owned.release();
    expect(code).toBe(1);
    expect(err.split('\n')).toEqual([
      `The data folder ${folder.join('data')} is in use by process 4711 on ${hostname()}, started 2026-01-01T00:00:00.000Z, and nothing answers at http://127.0.0.1:1.`,
      'Set KEYSTILE_URL to the address that the service printed when it started.',
      '',
    ]);
  });

  test('root key commands refuse a folder that another machine owns', async () => {
    using folder = new TempFolder();
    const environment = { KEYSTILE_DATA: folder.join('data') };
    await keystile(['root-key', 'create', '--right', '*'], { environment });
    const owned = DataFolder.own(folder.join('data'), {
      pid: 4711,
      host: 'elsewhere',
      startedAt: '2026-01-01T00:00:00.000Z',
      control: '/nowhere',
      url: null,
    });
    const { code, err } = await keystile(['root-key', 'list'], { environment });
    owned.release();
    expect(code).toBe(1);
    expect(err).toContain(
      'process 4711 on elsewhere, started 2026-01-01T00:00:00.000Z. Run this command on that machine.',
    );
  });

  test('root key commands use the data folder even with KEYSTILE_URL', async () => {
    await using here = await withoutServer();
    const environment = { KEYSTILE_URL: `http://127.0.0.1:${SILENT_PORT}` };
    expect((await here.run(['root-key', 'list'], { environment })).code).toBe(0);
  });

  test('commands on the database itself have no flags that name a service', async () => {
    for (const words of [
      'nodes',
      'root-key list',
      'backup create a.backup',
      'data export a',
      'data import a',
      'data release',
    ]) {
      for (const flag of ['--url=https://prod.example.com', '--root-key=root_x']) {
        const { code, err } = await keystile([...words.split(' '), flag]);
        expect([code, err]).toEqual([2, expect.stringMatching(/^Unknown flag --(?:url|root-key)\. .+\n$/)]);
        expect(err).not.toContain('prod');
      }
    }
  });

  test('commands at the same time wait for each other', async () => {
    await using here = await withoutServer();
    const names = Array.from({ length: 4 }, (_, i) => `service ${i}`);
    await Promise.all(names.map((name) => here.ok('api', 'create', name)));
    const { apis } = (await here.json('api', 'list')) as { apis: { name: string }[] };
    expect(apis.map(({ name }) => name).sort()).toEqual(names);
  });

  test('another program at the configured address never receives the root key', async () => {
    const seen: string[] = [];
    using other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        seen.push(`${new URL(request.url).pathname} ${request.headers.get('authorization')}`);
        return new Response('hello', { status: 404 });
      },
    });
    const environment = { KEYSTILE_PORT: String(other.port), KEYSTILE_ROOT_KEY: ROOT_KEY };
    const { code, err } = await keystile(['api', 'list'], { environment });
    expect([code, err]).toEqual([
      1,
      `The server at http://127.0.0.1:${other.port} does not answer like Keystile (HTTP 404). Check KEYSTILE_URL.\n`,
    ]);
    expect(seen).toEqual(['/v1/liveness null']);
  });

  test('a service on this machine is not asked through a proxy', async () => {
    await using server = await withServer();
    const before = process.env['HTTP_PROXY'];
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${SILENT_PORT}`;
    try {
      expect((await server.run(['api', 'list'])).code).toBe(0);
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY'];
      else process.env['HTTP_PROXY'] = before;
    }
  });
});

const health = (url: string, ...flags: string[]) =>
  runToEnd({ settings: { KEYSTILE_URL: url }, command: [...PROGRAM, 'health', ...flags] });

test('keystile health tells whether the service can answer: 0 when it can, 1 when it cannot or is something else', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  expect(await health(server.url)).toMatchObject({ code: 0, stdout: 'The service is ready.\n', stderr: '' });
  const told = await health(server.url, '--json');
  expect([told.code, JSON.parse(told.stdout)]).toEqual([0, { ready: true, reasons: [], warnings: [] }]);

  expect(await health(server.url, '--exact')).toMatchObject({ code: 0, stdout: 'The service is ready.\n' });
  const asked: string[] = [];
  let body: unknown = { ready: false, reasons: ['The database has failed.'], warnings: [] };
  using other = Bun.serve({
    port: 0,
    fetch: ({ url: target }) => {
      asked.push(new URL(target).search);
      return Response.json(body, { status: 503 });
    },
  });
  const url = `http://127.0.0.1:${other.port}`;
  expect(await health(url)).toMatchObject({ code: 1, stdout: 'The service is not ready.\nThe database has failed.\n' });
  await health(url, '--exact');
  expect(asked).toEqual(['', '?for=exact']);
  body = 'ok';
  expect(await health(url)).toMatchObject({
    code: 1,
    stderr: `The server at ${url} does not answer like Keystile (HTTP 503). Check KEYSTILE_URL.\n`,
  });
  await other.stop(true);
  expect((await health(url)).stderr).toStartWith(`Nothing answers at ${url} (`);
});
