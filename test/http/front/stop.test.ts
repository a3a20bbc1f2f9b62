import { expect, test } from 'bun:test';
import { connect } from 'node:net';

import { listenApi } from '../../../src/serve/listen.ts';
import { Connection } from '../../process/connection.ts';
import { TestService } from '../../support/service.ts';
import { answersIn, LIVENESS } from './wire.ts';

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
