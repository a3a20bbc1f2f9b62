import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';

import { until } from '../../tools/cluster/wait.ts';
import { type Reply, Wire } from '../support/cluster/clients.ts';
import { copyCheckout } from './documentation/checkout.ts';
import { Connection, refused, verifyHead } from './connection.ts';
import { remainingIn } from './documentation/offline.ts';
import { Child, type Launch, TempFolder } from './process.ts';
import { Server } from './server.ts';

const HALF = 5;
const CLIENTS = 64;
const CREDITS = 1_000_000;
/** Valid answers, then it is told to stop. */
const STOP_AFTER = 2_000;
/** How long what is in flight may take. */
const DRAIN_MAX_MS = 10_000;

let checkoutFolder: TempFolder;
let npmStart: Launch;

beforeAll(() => {
  checkoutFolder = new TempFolder();
  // What this machine's own npm settings make npm say is not of interest.
  const settings = {
    npm_config_update_notifier: 'false',
    npm_config_userconfig: checkoutFolder.join('no-user-npmrc'),
    npm_config_globalconfig: checkoutFolder.join('no-global-npmrc'),
  };
  npmStart = { command: ['npm', 'start'], cwd: copyCheckout(checkoutFolder), ownGroup: true, settings };
});

afterAll(() => checkoutFolder[Symbol.dispose]());

/** A verification whose head the server has read, and whose body it is still waiting for. */
async function halfSent(server: Server, body: string): Promise<Connection> {
  const connection = await Connection.open(server.port, verifyHead(body.length) + body.slice(0, HALF));
  // The server takes sockets in the order in which they become readable: after two answers it has read that one.
  for (let i = 0; i < 2; i++) expect((await fetch(`${server.url}/v1/liveness`)).status).toBe(200);
  return connection;
}

function ownerOf(folder: TempFolder): number {
  return (JSON.parse(readFileSync(folder.join('data/owner.json'), 'utf8')) as { pid: number }).pid;
}

/** How it is told to stop, while a request is in flight; everything that a stop promises is checked here. */
async function expectCleanStop(tell: (server: Server) => void | Promise<void>): Promise<void> {
  using folder = new TempFolder();
  await using server = await Server.start(folder, npmStart);
  const owner = ownerOf(folder);
  const { key, keyId } = await server.createKey({ remaining: 5 });
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 4 });
  const body = JSON.stringify({ key });
  using connection = await halfSent(server, body);
  await tell(server);
  await refused(server.port);
  connection.write(body.slice(HALF));
  const answer = await connection.answer();
  expect(answer).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ valid: true, remaining: 3 });
  // The outputs end only when every process that was started has let go of them.
  expect(await server.child.exited()).toBe(0);
  expect(server.child.stderr).toBe('');
  expect(() => process.kill(owner, 0)).toThrow('ESRCH');
  Bun.listen({ hostname: '127.0.0.1', port: server.port, socket: { data() {} } }).stop(true);
  expect(await remainingIn(folder.join('data'), keyId)).toBe(3);
}

// One after the other: a half-sent request is cut after some seconds, which many starts at once take on a busy machine.
describe('npm start: requests in flight are answered, exit code 0, no process left, port free, data there', () => {
  test('SIGTERM to npm alone', async () => {
    await expectCleanStop(({ child }) => child.signal('SIGTERM'));
  });

  test('SIGINT to npm alone', async () => {
    await expectCleanStop(({ child }) => child.signal('SIGINT'));
  });

  test('SIGINT to every process of the group, as Ctrl-C in a terminal sends it', async () => {
    await expectCleanStop(({ child }) => child.signalGroup('SIGINT'));
  });

  test('SIGTERM sent twice, the second one while the first is being followed', async () => {
    await expectCleanStop(async ({ child, port }) => {
      child.signal('SIGTERM');
      await refused(port);
      child.signal('SIGTERM');
    });
  });

  test('SIGINT and SIGTERM one after the other', async () => {
    await expectCleanStop(async ({ child, port }) => {
      child.signal('SIGINT');
      await refused(port);
      child.signal('SIGTERM');
    });
  });
});

test.concurrent('npm killed with SIGKILL takes the service with it; nothing that was answered is lost', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder, npmStart);
  const owner = ownerOf(folder);
  const { key, keyId } = await server.createKey({ remaining: 5 });
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 4 });
  await server.child.kill9();
  await server.child.exited();
  expect(() => process.kill(owner, 0)).toThrow('ESRCH');
  expect(await remainingIn(folder.join('data'), keyId)).toBe(4);
});

describe('the process itself', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test.concurrent(`${signal}: a doubled signal and an idle keep-alive connection hold up nothing, exit code 0`, async () => {
      using folder = new TempFolder();
      await using server = await Server.start(folder);
      using idle = await Connection.open(server.port, 'GET /v1/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n');
      expect(await idle.answer()).toStartWith('HTTP/1.1 200 OK\r\n');
      server.child.signal(signal);
      server.child.signal(signal);
      expect(await server.child.exited()).toBe(0);
      await idle.closed;
    });
  }

  test('a signal during the start is followed when the start is done', async () => {
    using folder = new TempFolder();
    await using child = new Child({ settings: { KEYSTILE_DATA: folder.join('data') } });
    await until('it owns its folder', () => existsSync(folder.join('data/owner.json')));
    child.signal('SIGTERM');
    expect(await child.exited()).toBe(0);
    expect(child.stdout).toEndWith('Ctrl-C stops it; nothing is lost.\n');
    expect(existsSync(folder.join('data/keystile.db-wal'))).toBe(false);
  });

  test.concurrent('under load: each request that was taken is answered and spent once, no other is; exit code 0, port free', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { key, keyId } = await server.createKey({ remaining: CREDITS });
    let [valid, stoppedAtMs] = [0, 0];
    /** Sends without pause on one connection, until that is closed. */
    const send = async (): Promise<Reply> => {
      using wire = await Wire.open(server.port);
      for (;;) {
        const reply = await wire.verify({ key });
        if (reply.kind !== 'verdict' || !reply.verdict.valid) return reply;
        if (++valid !== STOP_AFTER) continue;
        stoppedAtMs = performance.now();
        server.child.signal('SIGTERM');
      }
    };
    const last = await Promise.all(Array.from({ length: CLIENTS }, send));
    expect(last).toEqual(last.map(() => ({ kind: 'lost' })));
    expect(await server.child.exited()).toBe(0);
    expect(performance.now() - stoppedAtMs).toBeLessThan(DRAIN_MAX_MS);
    expect(server.child.stderr).toBe('');
    Bun.listen({ hostname: '127.0.0.1', port: server.port, socket: { data() {} } }).stop(true);
    expect(await remainingIn(folder.join('data'), keyId)).toBe(CREDITS - valid);
  });

  test.concurrent('a request that never ends does not keep the process from stopping', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    using connection = await halfSent(server, 'never sent as a whole');
    expect(await server.stop()).toBe(0);
    await connection.closed;
  });
});
