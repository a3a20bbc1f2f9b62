import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import type { Listening } from '../../../src/serve/listen.ts';
import type { TestService } from '../../support/service.ts';
import { exchange } from './connection.ts';
import { serve, type Served } from './wire.ts';

let served: Served;
let service: TestService;
let server: Listening;
let key = '';
let keyId = '';

beforeAll(async () => {
  served = await serve();
  ({ service, server } = served);
  ({ key, keyId } = await service.createKey({ remaining: 1_000_000, meta: { a: 1 } }));
});

afterAll(() => served.close());

const url = (path: string): string => `http://127.0.0.1:${server.port}${path}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url(path), {
    method: 'POST',
    body,
    headers: { ...JSON_TYPE, authorization: `Bearer ${service.rootKey}`, ...headers },
  });

describe('?pretty indents every answer', () => {
  test.each([
    ['a verdict', () => post('/v1/keys.verifyKey?pretty', JSON.stringify({ key }))],
    ['an object', () => post('/v1/keys.getKey?pretty', JSON.stringify({ keyId }))],
    ['an error', () => post('/v1/keys.getKey?pretty', '{}')],
    ['an error of a verification', () => post('/v1/keys.verifyKey?pretty', '{}')],
    ['health', () => fetch(url('/v1/liveness?pretty'))],
  ])('%s', async (_name, ask) => {
    const text = await (await ask()).text();
    expect(text).toBe(JSON.stringify(JSON.parse(text), null, 2));
    expect(text).toContain('\n  ');
  });
});

describe('Keystile-Request-Id', () => {
  const ID = /^req_[1-9A-HJ-NP-Za-km-z]{26}$/;

  test.each([
    ['an object', () => post('/v1/keys.getKey', JSON.stringify({ keyId }))],
    ['an error', () => post('/v1/keys.getKey', '{}')],
    ['an error of a verification', () => post('/v1/keys.verifyKey', '{}')],
    ['an unknown route', () => fetch(url('/nowhere'))],
    ['a wrong method', () => fetch(url('/v1/keys.createKey'))],
    ['health', () => fetch(url('/v1/liveness'))],
    ['the OpenAPI description', () => fetch(url('/openapi.json'))],
    ['a page', () => fetch(url('/docs'))],
    ['the answer to OPTIONS', () => fetch(url('/v1/keys.getKey'), { method: 'OPTIONS' })],
  ])('stands on %s, and in its body where that is an error', async (_name, ask) => {
    const response = await ask();
    expect(response.headers.get('keystile-request-id') ?? '').toMatch(ID);
    const text = await response.text();
    if (response.status >= 400) {
      expect((JSON.parse(text) as { error: { requestId: string } }).error.requestId).toBe(
        response.headers.get('keystile-request-id') ?? '',
      );
    }
  });

  test('does not stand on a verdict, whose body has it', async () => {
    const response = await post('/v1/keys.verifyKey', JSON.stringify({ key }));
    expect(response.headers.get('keystile-request-id')).toBeNull();
    expect(((await response.json()) as { requestId: string }).requestId).toMatch(ID);
  });
});

describe('methods', () => {
  test.each([
    ['/v1/keys.verifyKey', 'POST'],
    ['/v1/keys.createKey', 'POST'],
    ['/v1/keys.getKey', 'GET, HEAD, POST'],
    ['/v1/liveness', 'GET, HEAD, POST'],
    ['/docs', 'GET, HEAD'],
  ])('OPTIONS %s tells that it takes %s', async (path, allow) => {
    const response = await fetch(url(path), { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([204, allow, '']);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([
    ['/v1/keys.verifyKey', 'POST'],
    ['/v1/keys.createKey', 'POST'],
  ])('GET, HEAD, PUT and DELETE of %s are a 405 that names %s', async (path, allow) => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const response = await fetch(url(path), { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, allow]);
      expect((await response.text()) === '').toBe(method === 'HEAD');
    }
  });

  test('HEAD answers as GET would, without the body (RFC 9110, 9.3.2)', async () => {
    for (const path of ['/v1/liveness', '/v1/readiness', '/docs', '/openapi.json', '/']) {
      const asked = await fetch(url(path));
      const response = await fetch(url(path), { method: 'HEAD' });
      const expected = [path, asked.status, asked.headers.get('content-type'), ''];
      expect([path, response.status, response.headers.get('content-type'), await response.text()]).toEqual(expected);
    }
  });
});

describe('bodies', () => {
  const head = (path: string, ...lines: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const authorization = () => `Authorization: Bearer ${service.rootKey}`;
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  test.each([
    ['/v1/keys.verifyKey', 8192],
    ['/v1/apis.createApi', 65_536],
  ])('%s: a chunked body past %p bytes is answered 413 in JSON, and the connection closes', async (path, maxBytes) => {
    const pieces = Array.from({ length: maxBytes / 4096 + 1 }, () => chunk(' '.repeat(4096)));
    const heard = await exchange(server.port, head(path, authorization(), 'Transfer-Encoding: chunked'), ...pieces);
    expect([heard.status, heard.headers['content-type'], heard.headers['connection']]).toEqual([
      413,
      'application/json',
      'close',
    ]);
    expect(JSON.parse(heard.body)).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  test.each([['/v1/keys.verifyKey'], ['/v1/apis.createApi']])(
    '%s: a declared length past the limit is answered 413 before the body comes, and the connection closes',
    async (path) => {
      const heard = await exchange(server.port, head(path, authorization(), 'Content-Length: 1000000000'), '{');
      expect([heard.status, heard.headers['connection']]).toEqual([413, 'close']);
      expect(JSON.parse(heard.body)).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
    },
  );

  test('a chunked body within the limit is read', async () => {
    const text = JSON.stringify({ key });
    const request = head('/v1/keys.verifyKey', 'Transfer-Encoding: chunked', 'Connection: close');
    const heard = await exchange(server.port, request, chunk(text.slice(0, 5)), chunk(text.slice(5)), '0\r\n\r\n');
    expect(heard.status).toBe(200);
    expect(heard.body).toContain('"code":"VALID"');
  });

  test.each([
    ['both Content-Length and Transfer-Encoding', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['two different lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a length that is no number', ['Content-Length: five']],
    ['a negative length', ['Content-Length: -5']],
    ['an unknown transfer encoding', ['Transfer-Encoding: gzip']],
    ['a folded header', ['X-A: b', ' c']],
    ['a blank before the colon', ['X-A : b']],
    ['a bare line feed in a header', ['X-A: b\nX-C: d']],
  ])('%s: 400 and the connection closes', async (_name, lines) => {
    const heard = await exchange(server.port, head('/v1/keys.verifyKey', ...lines), '0\r\n\r\n');
    expect(heard.status).toBe(400);
    expect(heard.body).not.toContain('"valid":true');
  });
});

describe('verify by the fast route', () => {
  test.each([
    ['a valid key', () => JSON.stringify({ key, remaining: { cost: 0 } })],
    ['an unknown key', () => JSON.stringify({ key: 'demo_unknown' })],
    ['a key that no key can be', () => JSON.stringify({ key: '\ud800' })],
    ['another api', () => JSON.stringify({ key, apiId: 'api_other' })],
    ['a cost above the balance', () => JSON.stringify({ key, remaining: { cost: 9_000_000 } })],
    ['no key', () => '{}'],
    ['an unknown field', () => JSON.stringify({ key, apiID: 'x' })],
    ['malformed JSON', () => '{"key":'],
    ['an unknown limit', () => JSON.stringify({ key, ratelimits: [{ name: 'nope' }] })],
    ['a body over the limit', () => ' '.repeat(8193)],
    ['an empty body', () => ' '],
  ])('%s is answered as by the general one', async (_name, body) => {
    const fast = await post('/v1/keys.verifyKey', body());
    const general = await post('//v1/keys.verifyKey', body());
    const ids = (text: string): string => text.replace(/req_\w{26}/g, 'req');
    expect(fast.status).toBe(general.status);
    expect(ids(await fast.text())).toBe(ids(await general.text()));
    const kept = (headers: Headers) =>
      [...headers]
        .filter(([name]) => !['keystile-request-id', 'date'].includes(name))
        .sort(([a], [b]) => (a < b ? -1 : 1));
    expect(kept(fast.headers)).toEqual(kept(general.headers));
  });

  test('counts with the general one: 200 verifications over both take 200 credits', async () => {
    const made = await service.createKey({ remaining: 150 });
    const body = JSON.stringify({ key: made.key });
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => (await post(`${i % 2 ? '/' : ''}/v1/keys.verifyKey`, body)).json()),
    );
    const valid = (answers as { valid: boolean; remaining: number }[]).filter((answer) => answer.valid);
    expect(valid.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(
      Array.from({ length: 150 }, (_, i) => 149 - i),
    );
  });

  test('knows the address of its peer', async () => {
    const mine = await service.createKey({ ipAllowlist: ['127.0.0.1'] });
    const other = await service.createKey({ ipAllowlist: ['192.0.2.1'] });
    for (const path of ['/v1/keys.verifyKey', '//v1/keys.verifyKey']) {
      for (const [asked, code] of [
        [mine.key, 'VALID'],
        [other.key, 'FORBIDDEN'],
      ] as const) {
        const headers = { 'x-forwarded-for': '192.0.2.1' };
        expect(await (await post(path, JSON.stringify({ key: asked }), headers)).json()).toMatchObject({ code });
      }
    }
  });
});
