import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { VERSION } from '../../src/version.ts';
import { offline } from './documentation/offline.ts';
import { PROGRAM, runToEnd, TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';
import { paste } from './documentation/shell.ts';

const GENERATED = { KEYSTILE_ROOT_KEY: '' };
const ANOTHER_ONE = "to create another: keystile root-key create --right '*'";

/** The banner with what differs from start to start taken out. */
function normalised(banner: string, folder: TempFolder): string[] {
  return banner
    .replaceAll(folder.path, '/FOLDER')
    .replaceAll(/root_[1-9A-HJ-NP-Za-km-z]{30,}/g, 'root_SECRET')
    .replaceAll(/#signIn=\w+/g, '#signIn=TOKEN')
    .replaceAll(/(127\.0\.0\.1:)\d+ */g, '$1PORT ')
    .split('\n')
    .map((line) => line.trimEnd());
}

function pastedLines({ child }: Server): string {
  return /another terminal:\n(.*)\nCtrl-C/s.exec(child.stdout)?.[1] ?? '';
}

function rootKeyLine({ child }: Server): string {
  return /^ {2}Root key +(.*)$/m.exec(child.stdout)?.[1] ?? '';
}

async function control(folder: TempFolder, command: unknown): Promise<unknown> {
  const init = { unix: folder.join('data/control.sock'), method: 'POST', body: JSON.stringify(command) };
  return (await fetch('http://keystile/', init)).json();
}

describe('the first start', () => {
  test.concurrent('on a terminal prints the banner, and nothing else', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, { settings: GENERATED, onTerminal: true });
    const api = "-H 'Authorization: Bearer root_SECRET' -H 'Content-Type: application/json'";
    expect(normalised(server.child.stdout, folder)).toEqual([
      `Keystile ${VERSION}`,
      '  API       http://127.0.0.1:PORT docs at /docs',
      '  Dashboard http://127.0.0.1:PORT /dashboard#signIn=TOKEN',
      '            (the link signs you in once, within 10 minutes)',
      '  Data      /FOLDER/data (new)',
      '  Verify    open · refills at midnight UTC · metrics on 127.0.0.1:PORT',
      '  Root key  root_SECRET shown this once',
      'Paste into another terminal:',
      `  api=$(curl -s http://127.0.0.1:PORT /v1/apis.createApi ${api} -d '{"name":"demo"}' | sed 's/.*"apiId":"\\([^"]*\\)".*/\\1/')`,
      `  key=$(curl -s http://127.0.0.1:PORT /v1/keys.createKey ${api} -d '{"apiId":"'$api'","prefix":"demo","remaining":3}' | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')`,
      `  for i in 1 2 3 4; do curl -s http://127.0.0.1:PORT /v1/keys.verifyKey -H 'Content-Type: application/json' -d '{"key":"'$key'"}'; echo; done`,
      'Ctrl-C stops it; nothing is lost.',
      '',
    ]);
    expect(existsSync(folder.join('data/root-key'))).toBe(false);
  });

  test.concurrent('on a terminal prints a link that signs a browser in, once; otherwise no secret of the kind', async () => {
    using folder = new TempFolder();
    const server = await Server.start(folder, { settings: GENERATED, onTerminal: true });
    const token = /\/dashboard#signIn=(\S+)/.exec(server.child.stdout)?.[1];
    const take = () =>
      fetch(`${server.url}/dashboard/session`, {
        method: 'POST',
        headers: { origin: server.url, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
    expect([(await take()).status, (await take()).status]).toEqual([200, 401]);
    await server[Symbol.asyncDispose]();
    await using silent = await Server.start(folder, { settings: GENERATED });
    expect(silent.child.stdout).toMatch(/^ {2}Dashboard http:\S+\/dashboard +sign in with a root key$/m);
  });

  test.concurrent('its lines work as printed where verifying needs a root key, too', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, {
      settings: { ...GENERATED, KEYSTILE_VERIFY_AUTH: 'required' },
      onTerminal: true,
    });
    expect((await paste(pastedLines(server), folder)).match(/"code":"\w+"/g)).toEqual([
      '"code":"VALID"',
      '"code":"VALID"',
      '"code":"VALID"',
      '"code":"USAGE_EXCEEDED"',
    ]);
  });

  test.concurrent('a data folder in which the owner cannot be noted is one sentence, and stays free', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data/owner.json.new'), { recursive: true });
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const { code, stderr } = await runToEnd({ settings });
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining(`The data folder ${folder.join('data')} cannot be written (`),
    ]);
    expect(stderr.split('\n').length).toBe(2);
    rmSync(folder.join('data/owner.json.new'), { recursive: true });
    await using server = await Server.start(folder);
    expect(await server.stop()).toBe(0);
  });

  test.concurrent('a taken port is one sentence with a port to use instead, by the name it was given; the next start still shows the root key', async () => {
    using folder = new TempFolder();
    using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const settings = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: String(taken.port) };
    const { KEYSTILE_PORT: port, ...withoutPort } = settings;
    for (const [name, ran] of [
      ['KEYSTILE_PORT', await runToEnd({ settings })],
      ['--port', await runToEnd({ settings: withoutPort, command: [...PROGRAM, 'serve', '--port', port] })],
    ] as const) {
      const found = /^Port (\d+) is in use\. Set (\S+) to another one, such as (\d+)\.\n$/.exec(ran.stderr) ?? [];
      expect([ran.code, ran.stdout, found[1], found[2], found[3] === port]).toEqual([78, '', port, name, false]);
    }
    await using server = await Server.start(folder, { settings: GENERATED, onTerminal: true });
    expect(rootKeyLine(server)).toMatch(/^root_\S{30,} shown this once$/);
  });

  test.concurrent('a log that is asked for as JSON begins with the configuration in force, secrets redacted', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, {
      settings: { KEYSTILE_LOG_LEVEL: 'info', KEYSTILE_LOG_FORMAT: 'json', KEYSTILE_TIMEZONE: 'Asia/Tokyo' },
    });
    expect(await server.stop()).toBe(0);
    const logged = JSON.parse(server.child.stderr.split('\n')[0] ?? '') as Record<string, unknown>;
    expect(logged).toMatchObject({
      message: 'configuration',
      KEYSTILE_TIMEZONE: 'Asia/Tokyo',
      KEYSTILE_ROOT_KEY: '***',
    });
  });

  test.concurrent('a root key is not made where the start fails after it listened: the next start shows one', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data/control.sock/in the way'), { recursive: true });
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const failed = await runToEnd({ settings });
    expect([failed.code, failed.stdout]).toEqual([78, '']);
    expect(failed.stderr).toMatch(
      /^The control socket \S+ cannot be created \(\w+\)\. Check that the path is free and can be written to\.\n$/,
    );
    rmSync(folder.join('data/control.sock'), { recursive: true });
    await using server = await Server.start(folder, { settings: GENERATED, onTerminal: true });
    expect(rootKeyLine(server)).toMatch(/^root_\S{30,} shown this once$/);
  });

  test.concurrent('a folder that is there already keeps its mode; what is made in it is for its owner alone', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data'));
    chmodSync(folder.join('data'), 0o755);
    await using server = await Server.start(folder);
    expect(statSync(folder.join('data')).mode & 0o777).toBe(0o755);
    expect(statSync(folder.join('data/keystile.db')).mode & 0o777).toBe(0o600);
    expect(await server.stop()).toBe(0);
  });
});

describe('root keys at the start', () => {
  test.concurrent('a later start says how many there are and how to make another', async () => {
    using folder = new TempFolder();
    for (let made = 0; made < 2; made++)
      expect((await offline(folder.join('data'), ['root-key', 'create', '--right', '*'])).code).toBe(0);
    await using server = await Server.start(folder, { settings: GENERATED });
    expect(rootKeyLine(server)).toBe(`2 root keys; ${ANOTHER_ONE}`);
    expect(server.child.stdout).not.toContain('Paste');
    expect(server.child.stdout).not.toContain('(new)');
  });

  test.concurrent('KEYSTILE_ROOT_KEY works, is not printed or saved, and is not added twice', async () => {
    using folder = new TempFolder();
    for (let start = 0; start < 2; start++) {
      await using server = await Server.start(folder);
      expect(rootKeyLine(server)).toBe(`1 root key; ${ANOTHER_ONE}`);
      await server.ok('/v1/apis.createApi', { name: 'made with it' });
      expect(await server.stop()).toBe(0);
      expect(existsSync(folder.join('data/root-key'))).toBe(false);
      expect(server.child.stdout + server.child.stderr).not.toContain(ROOT_KEY);
    }
  });

  test.concurrent('KEYSTILE_ROOT_KEY_FILE works, with the line break that editors leave', async () => {
    using folder = new TempFolder();
    writeFileSync(folder.join('secret'), `${ROOT_KEY}\n`);
    const settings = { ...GENERATED, KEYSTILE_ROOT_KEY_FILE: folder.join('secret') };
    await using server = await Server.start(folder, { settings });
    const headers = { authorization: `Bearer ${ROOT_KEY}` };
    expect((await fetch(`${server.url}/v1/apis.listApis`, { headers })).status).toBe(200);
  });

  test.concurrent('a revoked one stays revoked: the start with it fails and says so', async () => {
    using folder = new TempFolder();
    const { id } = await revokeConfigured(folder);
    const settings = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_ROOT_KEY: ROOT_KEY };
    const refused = `The configured root key (${id}) was revoked. Configure another one.\n`;
    expect(await runToEnd({ settings })).toEqual({ code: 78, stdout: '', stderr: refused });
  });

  test.concurrent('one that is too short fails the start', async () => {
    using folder = new TempFolder();
    const settings = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_ROOT_KEY: 'x'.repeat(23) };
    const refused = 'KEYSTILE_ROOT_KEY must have at least 24 characters, all of them printable ASCII.\n';
    expect(await runToEnd({ settings })).toEqual({ code: 78, stdout: '', stderr: refused });
  });
});

async function revokeConfigured(folder: TempFolder): Promise<{ id: string }> {
  await using server = await Server.start(folder);
  const { rootKeys } = (await control(folder, { command: 'list' })) as { rootKeys: { id: string }[] };
  const [known] = rootKeys;
  if (known === undefined) throw new Error('no root key was stored');
  await control(folder, { command: 'revoke', rootKeyId: known.id });
  expect((await server.call('/v1/apis.createApi', { name: 'with a revoked one' })).status).toBe(401);
  expect(await server.stop()).toBe(0);
  return known;
}

describe('what stands in the way', () => {
  test.concurrent('a taken metrics port is a warning; the service runs', async () => {
    using folder = new TempFolder();
    using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    await using server = await Server.start(folder, { settings: { KEYSTILE_METRICS_PORT: String(taken.port) } });
    expect(server.child.stdout).toContain(' · no metrics\n');
    const { key } = await server.createKey({ remaining: 1 });
    expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 0 });
    expect(await server.stop()).toBe(0);
    const { time: _time, ...warning } = JSON.parse(server.child.stderr) as Record<string, unknown>;
    expect(warning).toEqual({
      level: 'warn',
      message: 'the metrics are off: their address cannot be used; set KEYSTILE_METRICS_PORT to a free port',
      address: `127.0.0.1:${taken.port}`,
      reason: 'EADDRINUSE',
    });
  });

  test.concurrent('a data folder that cannot be made is one sentence with the setting to change', async () => {
    using folder = new TempFolder();
    writeFileSync(folder.join('file'), '');
    const data = folder.join('file/data');
    const refused = `The data folder ${data} cannot be created or written (ENOTDIR). Set KEYSTILE_DATA to another folder.\n`;
    expect(await runToEnd({ settings: { KEYSTILE_DATA: data } })).toEqual({ code: 78, stdout: '', stderr: refused });
  });

  test.concurrent('the data folder is for its owner alone: other users have no rights, and a second process is refused with the owner named; the first goes on', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    // The folder is for its owner alone, and so is the control socket.
    expect(statSync(folder.join('data')).mode & 0o777).toBe(0o700);
    expect(statSync(folder.join('data/control.sock')).mode & 0o777).toBe(0o600);
    const second = await runToEnd({ settings: { KEYSTILE_DATA: folder.join('data') } });
    expect([second.code, second.stdout]).toEqual([75, '']);
    expect(second.stderr).toStartWith(
      `The data folder ${folder.join('data')} is in use by process ${server.child.pid} on `,
    );
    const { key } = await server.createKey({ remaining: 1 });
    expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 0 });
  });

  test.concurrent('everything that is wrong with the settings is said at once, a line each', async () => {
    using folder = new TempFolder();
    const settings = {
      KEYSTILE_DATA: folder.join('data'),
      KEYSTILE_PORT: '99999',
      KEYSTILE_TIMEZONE: 'Mars/Olympus',
      KEYSTILE_LOG_LEVLE: 'debug',
      KEYSTILE_ROOT_KEY_FILE: folder.join('absent'),
    };
    const { code, stdout, stderr } = await runToEnd({ settings });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr.trimEnd().split('\n').sort()).toEqual([
      'KEYSTILE_PORT must be a port, 0 to 65535, got "99999".',
      'KEYSTILE_TIMEZONE must be an IANA time zone such as Europe/Berlin, got "Mars/Olympus".',
      `The file ${folder.join('absent')} of KEYSTILE_ROOT_KEY_FILE cannot be read (ENOENT).`,
      'Unknown setting KEYSTILE_LOG_LEVLE. Did you mean KEYSTILE_LOG_LEVEL?',
    ]);
  });
});
