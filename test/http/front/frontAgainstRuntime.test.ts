import { afterAll, beforeAll, expect, test } from 'bun:test';

import { listenApi, type Listening } from '../../../src/serve/listen.ts';
import { exchange, type Heard } from './connection.ts';
import { chunked, request, type Served, serve, verification, VERIFY } from './wire.ts';
import { makeHandler } from '../../../src/http/router.ts';
import type { Service } from '../../../src/http/service.ts';

/** The routes behind the runtime's own HTTP server: another reader of HTTP, which the front is compared with. */
function startRuntime(service: Service): Listening {
  const handle = makeHandler(service);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: (received, from) => handle(withUrl(received), () => from.requestIP(received)?.address ?? null),
  });
  return { port: server.port ?? 0, stop: () => server.stop(true) };
}

/**
 * Without a Host header, the runtime's `request.url` has no origin. With a Host like `1.2.3.999`, which HTTP allows, it is not a valid URL
 * either. Both get another host name, because no code uses the name.
 */
function withUrl(received: Request): Request {
  const { url } = received;
  return URL.canParse(url) ? received : new Request(`http://keystile${targetOf(url)}`, received);
}

/** Path and query. */
function targetOf(url: string): string {
  if (url.startsWith('/')) return url;
  const at = url.indexOf('/', url.indexOf('://') + '://'.length);
  return at < 0 ? '/' : url.slice(at);
}

/** Requests that HTTP allows, and what is wrong in them for us: both servers answer the same, but for ids, dates and counts. */

let served: Served;
let runtime: Listening;
let key = '';

beforeAll(async () => {
  served = await serve();
  ({ key } = await served.service.createKey({ ratelimit: { async: true, limit: 1_000_000, duration: 3_600_000 } }));
  runtime = startRuntime(served.service.composed.service);
});

afterAll(async () => {
  await runtime.stop();
  await served.close();
});

const CLOSE = 'Connection: close';
const body = (): string => JSON.stringify({ key });
const any = (start: string, ...lines: string[]): string => request(start, ['Host: localhost', CLOSE, ...lines]);
const root = (): string => `Authorization: Bearer ${served.service.rootKey}`;
const many = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: a`);
const long = (path: string, bytes: number) =>
  `${any(`POST ${path} HTTP/1.1`, 'Content-Type: application/json', root(), `Content-Length: ${bytes}`)}${' '.repeat(bytes)}`;

test.each<[string, () => string]>([
  ['a verification', () => verification(body(), CLOSE)],
  ['in a chunk', () => chunked(body(), CLOSE)],
  ['unknown key', () => verification('{"key":"x"}', CLOSE)],
  ['with a query', () => verification(body(), CLOSE).replace(VERIFY, `${VERIFY}?pretty`)],
  ['with a path to resolve', () => verification(body(), CLOSE).replace(VERIFY, '/v1/./keys.verifyKey')],
  ['with a whole address', () => verification(body(), CLOSE).replace(VERIFY, `http://a${VERIFY}`)],
  ['no content type', () => verification(body(), CLOSE).replace('Content-Type', 'X-Type')],
  ['another content type', () => verification(body(), CLOSE).replace('application/json', 'text/plain')],
  ['a charset', () => verification(body(), CLOSE).replace('application/json', 'application/json; charset=utf-8')],
  ['an idempotency key', () => verification(body(), CLOSE, 'Idempotency-Key: abcdefghijklmnop')],
  ['a bad idempotency key', () => verification(body(), CLOSE, 'Idempotency-Key: no')],
  ['broken JSON', () => verification('{"key', CLOSE)],
  ['no body', () => verification('', CLOSE)],
  ['no length', () => any(`POST ${VERIFY} HTTP/1.1`, 'Content-Type: application/json')],
  ['no UTF-8', () => verification('{"key":"?"}', CLOSE).replace('?', '\xff')],
  ['too long a body', () => verification(' '.repeat(9000), CLOSE)],
  ['far too long a body', () => verification(' '.repeat(30_000), CLOSE)],
  ['an upgrade', () => verification(body(), 'Connection: Upgrade, close', 'Upgrade: h2c')],
  ['a header of other than ASCII', () => verification(body(), CLOSE, 'X-A: \u00e9')],
  ['HTTP/1.0', () => verification(body(), CLOSE).replace('HTTP/1.1', 'HTTP/1.0')],
  ['GET', () => any(`GET ${VERIFY} HTTP/1.1`)],
  ['GET with a body', () => `${any('GET /v1/liveness HTTP/1.1', 'Content-Length: 2')}{}`],
  ['HEAD', () => any('HEAD /v1/liveness HTTP/1.1')],
  ['OPTIONS', () => any('OPTIONS /v1/keys.getKey HTTP/1.1')],
  ['DELETE', () => any('DELETE /v1/keys.getKey HTTP/1.1')],
  ['an unknown route', () => any('GET /v1/nothing HTTP/1.1')],
  ['management without a root key', () => any('GET /v1/apis.listApis HTTP/1.1')],
  ['management', () => any('GET /v1/apis.getApi?apiId=api_none HTTP/1.1', root())],
  ['a page', () => any('GET /docs/errors HTTP/1.1')],
  ['a dot segment that is encoded', () => any('GET /v1/%2e/liveness HTTP/1.1')],
  ['a path above the root', () => any('GET /../v1/liveness HTTP/1.1')],
  ['an encoded path', () => any('GET /v1/%6civeness HTTP/1.1')],
  ['two slashes', () => any('GET //v1/liveness HTTP/1.1')],
  ['a backslash', () => any('GET /v1\\liveness HTTP/1.1')],
  ['a backslash where a name could begin', () => `${any('POST /\\\\a:99999 HTTP/1.1', 'Content-Length: 2')}{}`],
  ['odd characters in a path', () => any('GET /v1/"<>`{}|^[] HTTP/1.1')],
  ['a broken percent', () => any('GET /v1/%zz?q=%zz HTTP/1.1')],
  ['UTF-8 in a query', () => any('GET /v1/keys.getKey?keyId=\xc3\xa9 HTTP/1.1', root())],
  ['no UTF-8 in a query', () => any('GET /v1/keys.getKey?keyId=\xe9 HTTP/1.1', root())],
  ['a whole address without a path', () => any('GET http://a HTTP/1.1')],
  ['a whole address with a query alone', () => any('GET HTTPS://a:81?b HTTP/1.1')],
  ['a long query', () => any(`GET /v1/liveness?${'a'.repeat(14_000)} HTTP/1.1`)],
  ['very many headers', () => any('GET /v1/liveness HTTP/1.1', ...many(180))],
  ['a long header', () => any('GET /v1/liveness HTTP/1.1', `X-A: ${'a'.repeat(15_000)}`)],
  ['a header twice', () => verification(body(), CLOSE, 'Idempotency-Key: abcdefghijklmnop', 'Idempotency-Key: b')],
  ['an unknown expectation', () => verification(body(), CLOSE, 'Expect: something')],
  ['HTTP/1.0', () => verification(body()).replace('HTTP/1.1', 'HTTP/1.0')],
  ['HTTP/1.0 without a Host', () => 'GET /v1/liveness HTTP/1.0\r\n\r\n'],
  ['a check of HAProxy', () => 'OPTIONS / HTTP/1.0\r\n\r\n'],
  ['TRACE', () => any('TRACE /v1/liveness HTTP/1.1')],
  ['PURGE', () => any('PURGE /v1/liveness HTTP/1.1')],
  ['CONNECT with a path', () => any('CONNECT /v1/liveness HTTP/1.1')],
  ['GET in chunks', () => `${any('GET /v1/liveness HTTP/1.1', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`],
  ['an extension of a chunk', () => chunked(body(), CLOSE).replace('\r\n{', ';a=b\r\n{')],
  ['chunks in capitals', () => chunked(body(), CLOSE).replace(': chunked', ': CHUNKED')],
  ['HEAD of a page', () => any('HEAD /docs/errors HTTP/1.1')],
  ['HEAD of an unknown route', () => any('HEAD /v1/nothing HTTP/1.1')],
  ['a body of 64 KiB', () => long('/v1/apis.createApi', 65_536)],
  ['a body past 64 KiB', () => long('/v1/apis.createApi', 65_537)],
  ['a body of 4 MiB', () => long('/v1/migrations.createKeys', 4_194_304)],
  ['a body past 4 MiB', () => long('/v1/migrations.createKeys', 4_194_305)],
  ['a long body for an unknown route', () => long('/v1/nothing', 100_000)],
])('%s', async (_name, bytes) => {
  const sent = Buffer.from(bytes(), 'latin1');
  const [ours, theirs] = [await exchange(served.server.port, sent), await exchange(runtime.port, sent)];
  expect(plain(ours)).toEqual(plain(theirs));
  expect(ours.headers['connection'] ?? 'close').toBe('close');
});

test.each(['1.2.3.999', '1.2.3.4.5', '[1:2]', 'xn--a'])('the Host %s, which is none in a URL', async (host) => {
  // Any Host is accepted where the service does not listen on a loopback address.
  const { service } = served.service.composed;
  const front = listenApi({ ...service, config: { ...service.config, host: '0.0.0.0' } });
  const asked = [any('GET /v1/liveness?a=/b HTTP/1.1'), verification(body(), CLOSE), long('/v1/nothing', 100_000)];
  const statuses: number[] = [];
  for (const bytes of asked) {
    const sent = Buffer.from(bytes.replace(/^Host: .*$/m, `Host: ${host}`), 'latin1');
    expect(sent.includes(`\r\nHost: ${host}\r\n`)).toBe(true);
    const [ours, theirs] = [await exchange(front.port, sent), await exchange(runtime.port, sent)];
    expect(plain(ours)).toEqual(plain(theirs));
    statuses.push(theirs.status);
  }
  await front.stop();
  expect(statuses).toEqual([200, 200, 404]);
});

function plain({ status, headers, body: text }: Heard) {
  // Of HTTP/1.0 the runtime does not say that it closes.
  const { date: _date, 'keystile-request-id': _id, connection: _connection, ...kept } = headers;
  // One counts after the other.
  const same = (value: string): string =>
    value.replaceAll(/req_\w{26}|(?<="remaining": ?|;r=)\d+|(?<=Date: ).*|Connection: close\r\n/g, '...');
  if (kept['ratelimit'] !== undefined) kept['ratelimit'] = same(kept['ratelimit']);
  return { status, headers: kept, told: same(text) };
}
