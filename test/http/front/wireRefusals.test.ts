import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { exchange } from './connection.ts';
import { withoutIds } from '../errors/shownError.ts';
import { LIVENESS, request, type Served, serve, verification, VERIFY } from './wire.ts';

/** What is wrong in HTTP is answered in JSON, with a request id, counted, and the connection closes. */
interface Wrong {
  readonly bytes: string;
  readonly status: number;
}

const START = `POST ${VERIFY} HTTP/1.1`;
const HOST = 'Host: localhost';
const TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const wrong = (status: number, bytes: string): Wrong => ({ bytes, status });
const headers = (...lines: string[]) => request(START, [TYPE, ...lines, 'Connection: close']);
const chunks = (body: string) => request(START, [HOST, TYPE, 'Connection: close', CHUNKED], body);

const WRONG: Record<string, Wrong> = {
  'no Host': wrong(400, headers()),
  'an empty Host': wrong(400, headers('Host:')),
  'a Host with a path': wrong(400, headers('Host: a/b')),
  'a Host with a user': wrong(400, headers('Host: a@b')),
  'a Host with a blank': wrong(400, headers('Host: a b')),
  'a Host with a port past the last one': wrong(400, headers('Host: a:65536')),
  'the same Host twice': wrong(400, headers(HOST, HOST)),
  'two Hosts': wrong(400, headers(HOST, 'Host: b')),
  'an empty Host in HTTP/1.0': wrong(400, request('GET /v1/liveness HTTP/1.0', ['Host:'])),
  'the same length twice': wrong(400, `${headers(HOST, 'Content-Length: 2', 'Content-Length: 2')}{}`),
  'two lengths': wrong(400, `${headers(HOST, 'Content-Length: 2', 'Content-Length: 3')}{}`),
  'a list of lengths': wrong(400, `${headers(HOST, 'Content-Length: 2, 2')}{}`),
  'a length with a sign': wrong(400, `${headers(HOST, 'Content-Length: +2')}{}`),
  'a length with a zero before it': wrong(400, `${headers(HOST, 'Content-Length: 02')}{}`),
  'an empty length': wrong(400, headers(HOST, 'Content-Length:')),
  'a length past counting': wrong(400, headers(HOST, 'Content-Length: 99999999999999999999')),
  'a length and chunks': wrong(400, `${headers(HOST, 'Content-Length: 5', CHUNKED)}0\r\n\r\n`),
  'chunks twice': wrong(400, `${headers(HOST, CHUNKED, CHUNKED)}0\r\n\r\n`),
  'chunks of chunks': wrong(400, `${headers(HOST, 'Transfer-Encoding: chunked, chunked')}0\r\n\r\n`),
  'an unknown encoding': wrong(400, headers(HOST, 'Transfer-Encoding: gzip, chunked')),
  'chunks in HTTP/1.0': wrong(400, request(START.replace('1.1', '1.0'), [HOST, TYPE, CHUNKED], '0\r\n\r\n')),
  'a folded header': wrong(400, headers(HOST, 'X-A: b', ' c')),
  'a blank before the colon': wrong(400, headers(HOST, 'X-A : b')),
  'a header without a colon': wrong(400, headers(HOST, 'X-A')),
  'a bare line feed': wrong(400, headers(HOST, 'X-A: b\nX-C: d')),
  'a bare carriage return': wrong(400, headers(HOST, 'X-A: b\rX-C: d')),
  'a NUL in a header': wrong(400, headers(HOST, 'X-A: \0')),
  'a DEL in a header': wrong(400, headers(HOST, 'X-A: \x7f')),
  'no HTTP': wrong(400, 'hello\r\n\r\n'),
  'a TLS handshake': wrong(400, '\x16\x03\x01\x02\x00\x01'),
  'line feeds alone': wrong(400, 'GET / HTTP/1.1\nHost: localhost\n\n'),
  'two blanks': wrong(400, request(`POST  ${VERIFY} HTTP/1.1`, [HOST])),
  'a path without a slash': wrong(400, request('GET v1/liveness HTTP/1.1', [HOST])),
  'a star': wrong(400, request('OPTIONS * HTTP/1.1', [HOST])),
  'a fragment': wrong(400, request('GET /v1/liveness#a HTTP/1.1', [HOST, 'Connection: close'])),
  'another scheme': wrong(400, request('GET ftp://a/v1/liveness HTTP/1.1', [HOST])),
  'a control character in the path': wrong(400, request('GET /v1\x01 HTTP/1.1', [HOST])),
  'a method that nobody knows': wrong(501, request('FETCH /v1/liveness HTTP/1.1', [HOST])),
  'a method in lower case': wrong(501, request('get /v1/liveness HTTP/1.1', [HOST])),
  'HTTP/1.2': wrong(505, request('GET /v1/liveness HTTP/1.2', [HOST])),
  'HTTP/2 without asking': wrong(505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  'too many headers': wrong(431, headers(HOST, ...Array.from({ length: 250 }, (_, i) => `X-${i}: a`))),
  'too long a header': wrong(431, headers(HOST, `X-A: ${'a'.repeat(17_000)}`)),
  'headers without an end': wrong(431, `${START}\r\nX-A: ${'a'.repeat(17_000)}`),
  'a chunk with a hexadecimal mark': wrong(400, chunks('0x2\r\n{}\r\n0\r\n\r\n')),
  'a chunk with a sign': wrong(400, chunks('+2\r\n{}\r\n0\r\n\r\n')),
  'a chunk with a blank': wrong(400, chunks('2 \r\n{}\r\n0\r\n\r\n')),
  'a chunk without a size': wrong(400, chunks('\r\n{}\r\n0\r\n\r\n')),
  'a chunk longer than its size': wrong(400, chunks('1\r\n{}\r\n0\r\n\r\n')),
  'a chunk whose line ends with a line feed': wrong(400, chunks('2\n{}\r\n0\r\n\r\n')),
  'an extension in quotes': wrong(400, chunks('2;a="b"\r\n{}\r\n0\r\n\r\n')),
  'an extension past its bound': wrong(400, chunks(`2;a=${'b'.repeat(300)}\r\n{}\r\n0\r\n\r\n`)),
  'a malformed trailer': wrong(400, chunks('2\r\n{}\r\n0\r\nno trailer\r\n\r\n')),
};

const CODES: Record<number, string> = {
  400: 'BAD_REQUEST',
  431: 'HEADERS_TOO_LARGE',
  501: 'NOT_IMPLEMENTED',
  505: 'HTTP_VERSION_NOT_SUPPORTED',
};

describe('wrong HTTP', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve();
  });
  afterAll(() => served.close());

  const counted = (sample: string): number => {
    const { metrics, engine } = served.service.composed.service;
    const gauges = {
      version: '',
      location: '',
      cacheHits: 0,
      cacheMisses: 0,
      cachedKeys: 0,
      cachedIdentities: 0,
      unsavedLocalCounts: 0,
    };
    const more = {
      isReady: true,
      isReadyForExact: true,
      ledgerWaiting: 0,
      lookupsWaiting: engine.memory.keyCache.lookupsWaiting,
      connections: 0,
      connectionsRefused: 0,
      cluster: null,
    };
    const otherTags = { refused: 0, lists: 0, bytes: 0 };
    const line = metrics.text({ ...gauges, ...more, otherTags, walBytes: null }).split('\n');
    return Number(line.find((each) => each.startsWith(`${sample} `))?.slice(sample.length + 1) ?? 0);
  };

  test.each(Object.entries(WRONG))('%s', async (_name, { bytes, status }) => {
    const code = CODES[status] ?? '';
    const samples = [`keystile_errors_total{code="${code}"}`, `keystile_responses_total{status="${status}"}`];
    const before = samples.map(counted);
    const logged = served.service.logLines.length;
    const heard = await exchange(served.server.port, Buffer.from(bytes, 'latin1'));
    const id = heard.headers['keystile-request-id'] ?? '';
    expect([heard.status, heard.headers['connection']]).toEqual([status, 'close']);
    expect(JSON.parse(heard.body)).toMatchObject({ error: { code, requestId: id } });
    expect(id).toMatch(/^req_\w{26}$/);
    expect(samples.map(counted)).toEqual(before.map((count) => count + 1));
    expect(served.service.logLines.slice(logged)).toEqual([]);
  });

  test('whatever is wrong, nothing of it is taken for a second request, and the next connection is answered', async () => {
    const { service, server } = served;
    const { key, keyId } = await service.createKey({ remaining: 5 });
    for (const { bytes } of Object.values(WRONG)) {
      await exchange(server.port, Buffer.from(bytes + verification(JSON.stringify({ key })), 'latin1'));
    }
    expect(((await service.ok('/v1/keys.getKey', { keyId })) as { remaining: number }).remaining).toBe(5);
    expect((await exchange(server.port, LIVENESS.replace('Host', 'Connection: close\r\nHost'))).status).toBe(200);
  });
});

test('the words of it', async () => {
  const served = await serve();
  const told: Record<string, unknown> = {};
  for (const [what, { bytes }] of Object.entries(WRONG)) {
    const { status, body } = await exchange(served.server.port, Buffer.from(bytes, 'latin1'));
    told[what] = { status, ...(JSON.parse(withoutIds(body)) as object) };
  }
  await served.close();
  expect(told).toMatchSnapshot();
});
