import { connect } from 'node:net';

import { listenApi, type ListeningApi } from '../../../src/serve/listen.ts';
import { TestService, type TestServiceOptions } from '../../support/service.ts';

export const VERIFY = '/v1/keys.verifyKey';
export const LIVENESS = 'GET /v1/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n';

export interface Served {
  readonly service: TestService;
  readonly server: ListeningApi;
  close(): Promise<void>;
}

/** A service behind a real socket. */
export async function serve(options: TestServiceOptions = {}): Promise<Served> {
  const settings = { KEYSTILE_PORT: '0', ...options.settings };
  const service = await TestService.start({ ...options, settings });
  const server = listenApi(service.composed.service);
  return {
    service,
    server,
    async close() {
      await server.stop();
      await service.close();
    },
  };
}

/** A head and its body, as they are; no header is added. */
export function request(start: string, headers: readonly string[] = [], body = ''): string {
  return [start, ...headers, '', body].join('\r\n');
}

export function verification(body: string, ...headers: string[]): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const fields = ['Host: localhost', 'Content-Type: application/json', length, ...headers];
  return request(`POST ${VERIFY} HTTP/1.1`, fields, body);
}

export function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** The same, in one chunk. */
export function chunked(body: string, ...headers: string[]): string {
  const fields = ['Host: localhost', 'Content-Type: application/json', ...headers, 'Transfer-Encoding: chunked'];
  return request(`POST ${VERIFY} HTTP/1.1`, fields, `${chunk(body)}0\r\n\r\n`);
}

export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Every whole answer in what has come, in its order. `isHead`: none of them has a body. */
export function answersIn(received: string, isHead = false): Told[] {
  const answers: Told[] = [];
  let rest = Buffer.from(received, 'latin1');
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [start = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n');
    if (!start.startsWith('HTTP/1.1 ')) throw new Error(`no answer: ${rest.toString('latin1')}`);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    const length = isHead ? 0 : Number(headers['content-length'] ?? 0);
    if (rest.length < end + 4 + length) return answers;
    answers.push({
      status: Number(start.slice(9, 12)),
      headers,
      body: rest.toString('utf8', end + 4, end + 4 + length),
    });
    rest = rest.subarray(end + 4 + length);
  }
}

/** Sends these bytes and nothing more, then says that it has ended; answers what came until the other side closed. */
export async function sendAndEnd(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = '';
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () =>
    socket.end(Buffer.from(bytes, 'latin1')),
  );
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => (received += text));
  socket.on('error', () => {});
  socket.on('close', () => resolve(received));
  return promise;
}
