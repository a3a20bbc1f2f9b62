import { expect, test } from 'bun:test';
import { connect } from 'node:net';

import { ignoreNewcomers, listenApi } from '../../../src/serve/listen.ts';
import { Connection } from '../../process/connection.ts';
import { TestService } from '../../support/service.ts';
import { answersIn, LIVENESS, serve, verification } from './wire.ts';

test('a connection is closed by a stop behind its answer, which arrives as a whole', async () => {
  const own = await TestService.start({ settings: { KEYSTILE_PORT: '0' } });
  const ownServer = listenApi(own.composed.service);
  const document = await (await fetch(`http://127.0.0.1:${ownServer.port}/openapi.json`)).text();
  const asked = ['GET /openapi.json', 'GET  /openapi.json'].map(async (start) => {
    const chunks: Buffer[] = [];
    const ended = Promise.withResolvers<void>();
    const socket = connect(ownServer.port, '127.0.0.1');
    socket.pause();
    socket.write(`${start} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    for (let i = 0; i < 3; i++) await fetch(`http://127.0.0.1:${ownServer.port}/v1/liveness`);
    return {
      socket,
      read: async () => {
        socket.on('data', (chunk: Buffer) => chunks.push(chunk));
        socket.on('close', () => ended.resolve());
        socket.resume();
        await ended.promise;
        return Buffer.concat(chunks).toString('utf8').split('\r\n\r\n')[1] ?? '';
      },
    };
  });
  const clients = await Promise.all(asked);
  const stopped = ownServer.stop();
  const bodies = await Promise.all(clients.map(({ read }) => read()));
  await stopped;
  expect(bodies[0]).toBe(document);
  await own.close();
});

test('a connection that is already there gets one more answer while the service stops, and is closed behind it', async () => {
  const own = await TestService.start({ settings: { KEYSTILE_PORT: '0' } });
  const ownServer = listenApi(own.composed.service);
  const seen = async (): Promise<void> => {
    // The server takes sockets in the order in which they become readable: after two answers it has read what came before.
    for (let i = 0; i < 2; i++) await fetch(`http://127.0.0.1:${ownServer.port}/v1/liveness`);
  };
  using connection = await Connection.open(ownServer.port, LIVENESS);
  while (answersIn(connection.received).length === 0) await seen();
  // The beginning of a request keeps the service from ending before the rest has come.
  const body = '{"key":"demo"}';
  const head = `POST /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  connection.write(`${head}Content-Length: ${body.length}\r\n\r\n{`);
  await seen();
  const stopped = ownServer.stop();
  connection.write(body.slice(1) + LIVENESS);
  await connection.closed;
  await stopped;
  const [, first = '', second = '', ...more] = connection.received.split('HTTP/1.1 ');
  expect([first.includes('Connection: close'), second.includes('Connection: close'), more]).toEqual([false, true, []]);
  expect(second).toContain('NOT_FOUND');
  await own.close();
});

/** A thread that asks while this one does nothing, so that nobody takes its connection. */
function askMeanwhile(port: number): Promise<string> {
  const isSent = new Int32Array(new SharedArrayBuffer(4));
  const code = `const { connect } = require('node:net');
    let received = '';
    self.onmessage = ({ data: { port, text, isSent } }) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text, () => {
        Atomics.store(isSent, 0, 1);
        Atomics.notify(isSent, 0);
      }));
      socket.on('data', (bytes) => (received += bytes));
      socket.on('error', () => {});
      socket.on('close', () => self.postMessage(received));
    };`;
  const thread = new Worker(URL.createObjectURL(new Blob([code])));
  const { promise, resolve } = Promise.withResolvers<string>();
  thread.onmessage = ({ data }: MessageEvent<string>) => {
    resolve(data);
    thread.terminate();
  };
  thread.postMessage({ port, text: LIVENESS, isSent });
  Atomics.wait(isSent, 0, 0);
  return promise;
}

test('a connection that waits to be taken when the service closes is answered, where a balancer may have sent it', async () => {
  const served = await serve({ settings: { KEYSTILE_STOP_DELAY: '5s' } });
  const asked = askMeanwhile(served.server.port);
  const stopped = served.close();
  expect(answersIn(await asked).map(({ status }) => status)).toEqual([200]);
  await stopped;
});

test('where newcomers cannot be ignored, the service closes as before', () => {
  expect(ignoreNewcomers(-1)).toBe(false);
});

test('a service that is told to stop is not ready, goes on taking connections, and ends each with its answer', async () => {
  const served = await serve();
  const { service, server } = served;
  const { key } = await service.createKey({ remaining: 5 });
  const body = JSON.stringify({ key });
  const asked = [LIVENESS, verification(body), LIVENESS.replace('liveness', 'readiness')];
  const answers = async (): Promise<(readonly [status: number, isLast: boolean])[]> =>
    Promise.all(
      asked.map(async (text) => {
        using connection = await Connection.open(server.port, text);
        const [answer] = answersIn(await connection.answer());
        return [answer?.status ?? 0, /^connection: close$/im.test(connection.received)] as const;
      }),
    );
  expect(await answers()).toEqual([
    [200, false],
    [200, false],
    [200, false],
  ]);
  using idle = await Connection.open(server.port, LIVENESS);
  await idle.answer();
  service.composed.service.lifetime.isStopping = true;
  expect(await answers()).toEqual([
    [200, true],
    [200, true],
    [503, true],
  ]);
  const readiness = await service.call('/v1/readiness', undefined, { method: 'GET', rootKey: null });
  expect(readiness.body).toEqual({ ready: false, reasons: ['This node was told to stop.'], warnings: [] });
  // One that was there before gets its answer as well, and is closed behind it.
  idle.write(LIVENESS);
  await idle.closed;
  expect(answersIn(idle.received).map(({ status }) => status)).toEqual([200, 200]);
  await served.close();
});
