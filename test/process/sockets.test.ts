import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { Connection, verifyHead } from './connection.ts';
import { TempFolder } from './process.ts';
import { Server } from './server.ts';

/** The server and this process each hold one end of every socket, beside their own files and the other tests' sockets. */
const OWN_FILES = 500;
const OTHER_SOCKETS = 300;
const OPEN_FILES = Number(Bun.spawnSync(['sh', '-c', 'ulimit -n']).stdout.toString().replace('unlimited', '1e9'));
const SOCKETS = Math.min(10_000, Math.floor(OPEN_FILES * 0.9) - OWN_FILES);
/** How many connections are opened at a time: less than the queue of a listening socket holds. */
const AT_A_TIME = 100;
const DRIP_MS = 500;

let folder: TempFolder;
let server: Server;

beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder, {
    settings: { KEYSTILE_MAX_CONNECTIONS: String(SOCKETS + OTHER_SOCKETS) },
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function openMany(count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  while (connections.length < count) {
    const some = Math.min(AT_A_TIME, count - connections.length);
    connections.push(...(await Promise.all(Array.from({ length: some }, () => Connection.open(server.port)))));
    // A full queue drops connections that this side takes for open; after two answers the server has emptied it.
    for (let i = 0; i < 2; i++) expect((await fetch(`${server.url}/v1/liveness`)).status).toBe(200);
  }
  return connections;
}

/** Sends one more byte again and again until the server has had enough; answers what it had sent by then. */
async function drip(firstBytes: string): Promise<string> {
  using connection = await Connection.open(server.port, firstBytes);
  const dripping = setInterval(() => connection.write('a'), DRIP_MS);
  await connection.closed.finally(() => clearInterval(dripping));
  return connection.received;
}

/** Sends the beginning of something and nothing more; answers when the server has closed the connection. */
async function stall(firstBytes: string): Promise<string> {
  using connection = await Connection.open(server.port, firstBytes);
  await connection.closed;
  return connection.received;
}

async function hangUpHalfway(firstBytes: string): Promise<string> {
  using connection = await Connection.open(server.port, firstBytes);
  connection.halfClose();
  await connection.closed;
  return connection.received;
}

/** Verifications are answered, and answered right. */
async function expectServing(): Promise<void> {
  const { key } = await server.createKey({ remaining: 100 });
  const verdicts = (await Promise.all(Array.from({ length: 101 }, () => server.verify(key)))) as { code: string }[];
  expect(verdicts.filter(({ code }) => code === 'VALID').length).toBe(100);
}

describe('connections that waste our time', () => {
  test.concurrent(`${SOCKETS} idle sockets: verifications are answered, and the server closes every one of them`, async () => {
    const idle = await openMany(SOCKETS);
    try {
      await expectServing();
      await Promise.all(idle.map(({ closed }) => closed));
      expect(idle.filter(({ received }) => received !== '')).toEqual([]);
      await expectServing();
    } finally {
      for (const connection of idle) connection[Symbol.dispose]();
    }
  });

  test.concurrent('headers and bodies that stall, come byte by byte or end halfway are cut; others are answered meanwhile', async () => {
    const head = 'POST /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\nX-Slow: ';
    const body = `${verifyHead(4096)}{"key":"`;
    const cut = Promise.all([
      stall(head),
      stall(body),
      drip(head),
      drip(body),
      hangUpHalfway(head),
      hangUpHalfway(body),
      stall(`${verifyHead(4096).replace('Content-Length: 4096', 'Transfer-Encoding: chunked')}5\r\n{"key`),
    ]);
    await expectServing();
    expect((await cut).filter((received) => received.startsWith('HTTP/1.1 200'))).toEqual([]);
    await expectServing();
    // Who hangs up is no error of ours, and must not be able to fill the log.
    expect(server.child.stderr).toBe('');
  });

  test.concurrent('clients that do not read their answers hold up nobody', async () => {
    const pipelined = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200);
    const deaf = await Promise.all(Array.from({ length: 20 }, () => Connection.open(server.port)));
    try {
      for (const connection of deaf) {
        connection.pauseReading();
        connection.write(pipelined);
      }
      await expectServing();
    } finally {
      for (const connection of deaf) connection[Symbol.dispose]();
    }
    await expectServing();
  });
});
