import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';

import { listenApi, type Listening } from '../../../src/serve/listen.ts';
import { Connection } from '../../process/connection.ts';
import { TestService } from '../../support/service.ts';
import { exchange } from './connection.ts';
import { answersIn, chunked, LIVENESS, request as bytesOf, verification, VERIFY } from './wire.ts';

const MEGABYTE = 1 << 20;

let service: TestService;
let server: Listening;

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_PORT: '0' } });
  server = listenApi(service.composed.service);
});

afterAll(async () => {
  await server.stop();
  await service.close();
});

const bodiesOf = (received: string): string[] => answersIn(received).map(({ body }) => body);

/** Waits until so many answers have come. */
async function answersOf(connection: Connection, count: number): Promise<string[]> {
  for (;;) {
    const bodies = bodiesOf(connection.received);
    if (bodies.length >= count) return bodies;
    await seen(1);
  }
}

/** The server takes sockets in the order in which they become readable: after two answers it has read what came before. */
async function seen(rounds = 2): Promise<void> {
  for (let i = 0; i < rounds; i++) await fetch(`http://127.0.0.1:${server.port}/v1/liveness`);
}

const remaining = async (keyId: string): Promise<number> =>
  ((await service.call('/v1/keys.getKey', { keyId })).body as { remaining: number }).remaining;

const remainingOf = (bodies: readonly string[]) =>
  bodies.map((body) => (JSON.parse(body) as { remaining?: number }).remaining);

describe('a request that comes in pieces', () => {
  test('cut at any byte it is answered and charged once', async () => {
    const { key, keyId } = await service.createKey({ remaining: 1000 });
    const bytes = verification(JSON.stringify({ key }));
    using connection = await Connection.open(server.port);
    for (let cut = 1; cut < bytes.length; cut++) {
      connection.received = '';
      connection.write(bytes.slice(0, cut));
      await seen(1);
      connection.write(bytes.slice(cut));
      expect(remainingOf(await answersOf(connection, 1))).toEqual([1000 - cut]);
    }
    expect(await remaining(keyId)).toBe(1000 - bytes.length + 1);
  });

  test('byte by byte', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    using connection = await Connection.open(server.port);
    for (const byte of verification(JSON.stringify({ key }))) {
      connection.write(byte);
      await seen(1);
    }
    expect(remainingOf(await answersOf(connection, 1))).toEqual([4]);
  });

  test('with long headers', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    using connection = await Connection.open(server.port);
    connection.write(verification(JSON.stringify({ key }), `X-Long: ${'x'.repeat(15_000)}`).slice(0, 12_000));
    await seen();
    connection.write(verification(JSON.stringify({ key }), `X-Long: ${'x'.repeat(15_000)}`).slice(12_000));
    expect(remainingOf(await answersOf(connection, 1))).toEqual([4]);
  });
});

describe('several requests at once on one connection', () => {
  test('are answered in their order, one after the other', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    using connection = await Connection.open(server.port, verification(JSON.stringify({ key })).repeat(101));
    const bodies = await answersOf(connection, 101);
    expect(remainingOf(bodies)).toEqual([...Array.from({ length: 100 }, (_, i) => 99 - i), 0]);
    expect(bodies.at(-1)).toContain('USAGE_EXCEEDED');
  });

  test('of every kind: by the verify route, by the general one, wrong, and chunked', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    const body = JSON.stringify({ key });
    const sent = [verification(body), LIVENESS, verification('{}'), verification(body), LIVENESS, chunked(body)];
    using connection = await Connection.open(server.port, sent.join(''));
    const bodies = (await answersOf(connection, sent.length)).map((text) => JSON.parse(text) as object);
    expect(bodies).toMatchObject([
      { remaining: 99 },
      { status: 'ok' },
      { error: { code: 'BAD_REQUEST' } },
      { remaining: 98 },
      { status: 'ok' },
      { remaining: 97 },
    ]);
    connection.received = '';
    connection.write(verification(body));
    expect(remainingOf(await answersOf(connection, 1))).toEqual([96]);
  });

  test('what comes while one is answered waits for its turn, also where it is more than the front holds', async () => {
    const slow = await TestService.start({ settings: { KEYSTILE_PORT: '0' }, addedFlushMs: 100 });
    const slowServer = listenApi(slow.composed.service);
    const { key } = await slow.createKey({ remaining: 1000 });
    using connection = await Connection.open(slowServer.port, verification(JSON.stringify({ key })));
    await seen();
    connection.write(LIVENESS.repeat(1000));
    await seen();
    connection.write(LIVENESS);
    const bodies = await answersOf(connection, 1002);
    expect(bodies[0]).toContain('"remaining":999');
    expect(new Set(bodies.slice(1)).size).toBe(1);
    await slowServer.stop();
    await slow.close();
  });
});

describe('a client that reads late gets everything', () => {
  /** Sends a request so often that the answers fill all buffers, and the last time with a wish to close. */
  async function bytesOfAnswers(request: string, count: number): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chunks: Buffer[] = [];
    const socket = connect(server.port, '127.0.0.1');
    socket.pause();
    socket.write(request.repeat(count - 1) + request.replace('Host:', 'Connection: close\r\nHost:'));
    await seen();
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('close', () => resolve());
    socket.resume();
    await promise;
    return Buffer.concat(chunks).toString('latin1');
  }

  test('of large answers', async () => {
    const document = await (await fetch(`http://127.0.0.1:${server.port}/openapi.json`)).text();
    const count = Math.ceil(20_000_000 / document.length);
    const received = await bytesOfAnswers('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n', count);
    expect(received.split('}').length - 1).toBe(count * (document.split('}').length - 1));
  });

  test('of many small ones, which are decided at once', async () => {
    const { key } = await service.createKey({});
    const count = 60_000;
    const received = await bytesOfAnswers(verification(JSON.stringify({ key })), count);
    expect(received.split('"valid":true').length - 1).toBe(count);
    expect(received.split('\r\n\r\n{').length - 1).toBe(count);
  });
});

describe('the connection', () => {
  test('who sends a body that is too long, and reads only then, still sees the refusal', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let received = '';
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    socket.pause();
    const head = ['Host: localhost', 'Content-Type: application/json', `Content-Length: ${MEGABYTE}`];
    socket.write(bytesOf(`POST ${VERIFY} HTTP/1.1`, head));
    for (let i = 0; i < 5; i++) await fetch(`http://127.0.0.1:${server.port}/v1/liveness`);
    const isSent = Promise.withResolvers<void>();
    socket.on('error', () => isSent.resolve());
    socket.write('x'.repeat(MEGABYTE), () => isSent.resolve());
    await isSent.promise;
    for (let i = 0; i < 5; i++) await fetch(`http://127.0.0.1:${server.port}/v1/liveness`);
    socket.on('data', (data: Buffer) => (received += data.toString('latin1')));
    socket.on('close', () => resolve(received));
    socket.resume();
    expect(answersIn(await promise)[0]?.status).toBe(413);
  });

  test('is closed behind the answer where the client asks for it', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const heard = await exchange(server.port, verification(JSON.stringify({ key }), 'Connection: close') + LIVENESS);
    expect([heard.status, heard.headers['connection']]).toEqual([200, 'close']);
    expect(JSON.parse(heard.body)).toMatchObject({ remaining: 4 });
    const page = await exchange(server.port, LIVENESS.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect([page.status, page.headers['connection'], JSON.parse(page.body)]).toMatchObject([200, 'close', {}]);
  });

  test('that is gone before the answer: the credit is taken, nothing is logged, others are answered', async () => {
    const { key, keyId } = await service.createKey({ remaining: 5 });
    const logged = service.logLines.length;
    (await Connection.open(server.port, verification(JSON.stringify({ key }))))[Symbol.dispose]();
    while ((await remaining(keyId)) === 5) await seen(1);
    expect(await remaining(keyId)).toBe(4);
    expect(service.logLines.slice(logged)).toEqual([]);
  });

  test('that is reset at once: what it asks for is done, and nothing is logged', async () => {
    const logged = service.logLines.length;
    const body = JSON.stringify({ name: 'made for someone who has gone' });
    const head = ['POST /v1/apis.createApi HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'];
    const authorization = `Authorization: Bearer ${service.rootKey}`;
    const request = [...head, authorization, `Content-Length: ${body.length}`, '', body].join('\r\n');
    for (let i = 0; i < 50; i++) (await Connection.open(server.port, request))[Symbol.dispose]();
    await seen();
    expect(service.logLines.slice(logged)).toEqual([]);
  });

  test('is known by the address it comes from, on every way through', async () => {
    const { key } = await service.createKey({ ipAllowlist: ['127.0.0.2'] });
    const body = JSON.stringify({ key });
    const general = verification(body, 'Connection: close').replace(VERIFY, `${VERIFY}?a`);
    for (const bytes of [verification(body, 'Connection: close'), general, chunked(body, 'Connection: close')]) {
      expect((await from('127.0.0.2', bytes)).body).toContain('"code":"VALID"');
      expect((await from('127.0.0.1', bytes)).body).toContain('"code":"FORBIDDEN"');
    }
  });

  async function from(localAddress: string, bytes: string): Promise<{ body: string }> {
    const { promise, resolve } = Promise.withResolvers<string>();
    let body = '';
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress }, () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    socket.on('close', () => resolve(body));
    return { body: await promise };
  }
});

describe('more connections than there may be', () => {
  test('are told so and closed; when others are closed there is room again', async () => {
    const small = await TestService.start({ settings: { KEYSTILE_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '3' } });
    const smallServer = listenApi(small.composed.service);
    const open = await Promise.all([1, 2, 3].map(() => Connection.open(smallServer.port, LIVENESS)));
    for (const connection of open) expect(await connection.answer()).toStartWith('HTTP/1.1 200 OK');
    expect(smallServer.connections()).toBe(3);
    const heard = await exchange(smallServer.port);
    expect([heard.status, heard.headers['connection'], heard.headers['retry-after']]).toEqual([503, 'close', '1']);
    const error = { code: 'UNAVAILABLE', message: 'This node has reached its limit of connections. Try again later.' };
    expect(JSON.parse(heard.body)).toMatchObject({ error });
    open[0]?.[Symbol.dispose]();
    while (smallServer.connections() === 3) await seen(1);
    using another = await Connection.open(smallServer.port, LIVENESS);
    expect(await another.answer()).toStartWith('HTTP/1.1 200 OK');
    for (const connection of open) connection[Symbol.dispose]();
    await smallServer.stop();
    await small.close();
  });
});

describe('what is said is counted in bytes', () => {
  test('of a verdict with other than ASCII in it, and of a request with it', async () => {
    const { key } = await service.createKey({ name: 'Schlüssel 🔑', meta: { straße: 'ß'.repeat(100) } });
    using connection = await Connection.open(server.port);
    for (let i = 0; i < 2; i++) {
      connection.received = '';
      connection.write(verification(JSON.stringify({ key, tags: ['größe=ß'] })));
      expect(JSON.parse((await answersOf(connection, 1))[0] ?? '')).toMatchObject({
        valid: true,
        name: 'Schlüssel 🔑',
        meta: { straße: 'ß'.repeat(100) },
      });
    }
  });

  test('a byte order mark before the body is passed over', async () => {
    const { key } = await service.createKey({});
    const heard = await exchange(server.port, verification(`\ufeff${JSON.stringify({ key })}`, 'Connection: close'));
    expect(JSON.parse(heard.body)).toMatchObject({ valid: true });
  });
});
