import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { connect } from 'node:net';

import { MAX_VERIFY_BATCH_BODY_BYTES } from '../../../src/core/bounds.ts';
import { listenMetrics, type Listening } from '../../../src/serve/listen.ts';
import { Connection } from '../../process/connection.ts';
import { exchange } from './connection.ts';
import {
  answersIn,
  chunk,
  chunked,
  LIVENESS,
  request,
  sendAndEnd,
  type Served,
  serve,
  verification,
  VERIFY,
} from './wire.ts';
import type { TestService } from '../../support/service.ts';

const CLOSE = 'Connection: close';

describe('HTTP as it is spoken', () => {
  let served: Served;
  let key = '';
  beforeAll(async () => {
    served = await serve();
    ({ key } = await served.service.createKey({ remaining: 1_000_000 }));
  });
  afterAll(() => served.close());

  const port = () => served.server.port;
  const body = () => JSON.stringify({ key });
  describe('HTTP/1.0', () => {
    test('without a Host: the checks of HAProxy and of others are answered, and the answer says that the connection closes', async () => {
      for (const [start, status] of [
        ['OPTIONS / HTTP/1.0', 204],
        ['GET /v1/liveness HTTP/1.0', 200],
        ['HEAD /v1/readiness HTTP/1.0', 200],
      ] as const) {
        const heard = await exchange(port(), `${start}\r\n\r\n`);
        expect([start, heard.status, heard.headers['connection']]).toEqual([start, status, 'close']);
      }
    });

    test('with a Host: the answer says that the connection closes, whatever the client asks for', async () => {
      for (const more of [[], ['Connection: keep-alive']]) {
        const heard = await exchange(port(), request('GET /v1/liveness HTTP/1.0', ['Host: localhost', ...more]));
        expect([heard.status, heard.headers['connection']]).toEqual([200, 'close']);
      }
      const bytes = verification(body()).replace('HTTP/1.1', 'HTTP/1.0');
      const heard = await exchange(port(), bytes);
      expect([heard.status, heard.headers['connection']]).toEqual([200, 'close']);
      expect(JSON.parse(heard.body)).toMatchObject({ valid: true });
    });
  });

  test('the client asks to close: the answer says so, the connection is closed', async () => {
    for (const bytes of [verification(body(), CLOSE), LIVENESS.replace('Host', `${CLOSE}\r\nHost`)]) {
      const heard = await exchange(port(), bytes);
      expect([heard.status, heard.headers['connection']]).toEqual([200, 'close']);
    }
  });

  test('otherwise nothing is said, and the connection is kept', async () => {
    using connection = await Connection.open(port());
    for (const bytes of [
      verification(body()),
      LIVENESS,
      chunked(body()),
      LIVENESS.replace('GET', 'OPTIONS'),
      LIVENESS,
    ]) {
      connection.received = '';
      connection.write(bytes);
      while (answersIn(connection.received).length === 0) await fetch(`http://127.0.0.1:${port()}/v1/liveness`);
      expect(answersIn(connection.received)[0]?.headers['connection']).toBeUndefined();
    }
  });

  test.each([
    ['HEAD', LIVENESS.replace('GET', 'HEAD')],
    ['OPTIONS', LIVENESS.replace('GET', 'OPTIONS')],
    ['HTTP/1.0', 'GET /v1/liveness HTTP/1.0\r\n\r\n'],
  ])('a client that ends its side behind %s gets the answer', async (what, bytes) => {
    const answers = answersIn(await sendAndEnd(port(), bytes), what === 'HEAD');
    expect(answers.map(({ status }) => status)).toEqual([what === 'OPTIONS' ? 204 : 200]);
  });

  test('HEAD tells the length of what GET answers, and sends nothing of it', async () => {
    for (const path of ['/openapi.json', '/docs', '/v1/nothing']) {
      const [got, head] = [
        answersIn(await sendAndEnd(port(), request(`GET ${path} HTTP/1.1`, ['Host: localhost', CLOSE])))[0],
        await sendAndEnd(port(), request(`HEAD ${path} HTTP/1.1`, ['Host: localhost', CLOSE])),
      ];
      expect(head).toEndWith('\r\n\r\n');
      expect(answersIn(head, true)).toMatchObject([
        { status: got?.status, headers: { 'content-length': got?.headers['content-length'] }, body: '' },
      ]);
    }
  });

  test('a client that waits for a word before it sends its body gets it', async () => {
    for (const path of [VERIFY, `${VERIFY}?a`]) {
      using connection = await Connection.open(port());
      const [head = ''] = verification(body(), 'Expect: 100-continue', CLOSE).replace(VERIFY, path).split('{');
      connection.write(head);
      while (connection.received === '') await fetch(`http://127.0.0.1:${port()}/v1/liveness`);
      expect(connection.received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      connection.received = '';
      connection.write(body());
      expect(await connection.answer()).toStartWith('HTTP/1.1 200 OK\r\n');
    }
  });

  test('whose body would be too long gets the refusal instead', async () => {
    const head = ['Host: localhost', 'Content-Type: application/json', 'Expect: 100-continue', 'Content-Length: 9000'];
    const heard = await exchange(port(), request(`POST ${VERIFY} HTTP/1.1`, head));
    expect(heard.status).toBe(413);
    expect(JSON.parse(heard.body)).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  test('the longest body is taken, by its length and in chunks of every size; one byte more is not', async () => {
    const text = JSON.stringify({ keys: [{ key }] }).padEnd(MAX_VERIFY_BATCH_BODY_BYTES, ' ');
    const head = ['Host: localhost', 'Content-Type: application/json', CLOSE];
    const start = 'POST /v1/keys.verifyKeys HTTP/1.1';
    const told = await exchange(port(), request(start, [...head, `Content-Length: ${text.length}`], text));
    expect(JSON.parse(told.body)).toMatchObject({ results: [{ valid: true }] });
    for (const size of [777, 100_000, text.length]) {
      let chunks = '';
      for (let at = 0; at < text.length; at += size) chunks += chunk(text.slice(at, at + size));
      const heard = await exchange(
        port(),
        request(start, [...head, 'Transfer-Encoding: chunked'], `${chunks}0\r\n\r\n`),
      );
      expect(JSON.parse(heard.body)).toMatchObject({ results: [{ valid: true }] });
    }
    const tooLong = await exchange(port(), request(start, [...head, 'Transfer-Encoding: chunked'], chunk(`${text} `)));
    expect([tooLong.status, tooLong.headers['connection']]).toEqual([413, 'close']);
  });

  test('a body in chunks of one byte is refused before it is long', async () => {
    const head = ['Host: localhost', 'Content-Type: application/json', 'Transfer-Encoding: chunked', CLOSE];
    const text = JSON.stringify({ keys: [{ key }] }).padEnd(10_000, ' ');
    const chunks = Array.from(text, (each) => chunk(each)).join('');
    const heard = await exchange(port(), request('POST /v1/keys.verifyKeys HTTP/1.1', head, `${chunks}0\r\n\r\n`));
    const message = 'The chunked body has too many short chunks or long extensions. Send chunks of 16 bytes or more.';
    expect([heard.status, JSON.parse(heard.body).error.message]).toEqual([400, message]);
  });

  test('every answer is counted by its status, and has a request id in a header or, of a verdict, in its body', async () => {
    const { metrics } = served.service.composed.service;
    using spy = spyOn(metrics, 'responded');
    const asked: [string, number][] = [
      [verification(body(), CLOSE), 200],
      [chunked(body(), CLOSE), 200],
      [verification('{}', CLOSE), 400],
      [verification(' '.repeat(9000), CLOSE), 413],
      [request('GET /v1/liveness HTTP/1.0'), 200],
      [request('GET /docs HTTP/1.1', ['Host: localhost', CLOSE]), 200],
      [request('OPTIONS /docs HTTP/1.1', ['Host: localhost', CLOSE]), 204],
      [request('DELETE /docs HTTP/1.1', ['Host: localhost', CLOSE]), 405],
      [request('GET /nowhere HTTP/1.1', ['Host: localhost', CLOSE]), 404],
      [request('GET /v1/apis.listApis HTTP/1.1', ['Host: localhost', CLOSE]), 401],
      [request('GET /docs HTTP/1.1', ['Host: a b', CLOSE]), 400],
    ];
    for (const [bytes, status] of asked) {
      const heard = await exchange(port(), bytes);
      const id = heard.headers['keystile-request-id'] ?? (JSON.parse(heard.body) as { requestId: string }).requestId;
      expect([heard.status, id]).toEqual([status, expect.stringMatching(/^req_\w{26}$/) as string]);
    }
    expect(spy.mock.calls).toEqual(asked.map(([, status]) => [status]));
  });

  test('a client is known by the address that it comes from, whatever it sends', async () => {
    const mine = await served.service.createKey({ ipAllowlist: ['127.0.0.2'] });
    const asked = JSON.stringify({ key: mine.key });
    const general = verification(asked, CLOSE).replace(VERIFY, `${VERIFY}?a`);
    const old = verification(asked).replace('HTTP/1.1', 'HTTP/1.0');
    const forged = verification(asked, CLOSE, 'X-Forwarded-For: 127.0.0.2');
    for (const bytes of [verification(asked, CLOSE), general, chunked(asked, CLOSE), old, forged]) {
      expect(await from('127.0.0.2', bytes)).toContain('"code":"VALID"');
      expect(await from('127.0.0.1', bytes)).toContain('"code":"FORBIDDEN"');
    }
  });

  async function from(localAddress: string, bytes: string): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    let received = '';
    const socket = connect({ port: port(), host: '127.0.0.1', localAddress }, () => socket.write(bytes));
    socket.on('data', (data: Buffer) => (received += data.toString('utf8')));
    socket.on('close', () => resolve(received));
    return promise;
  }
});

test('the metrics are read by HTTP/1.0 without a Host and, where they are no loopback address, with any Host', async () => {
  const settings = { KEYSTILE_METRICS_PORT: '0', KEYSTILE_METRICS_HOST: '0.0.0.0', KEYSTILE_METRICS_TOKEN: 'a token' };
  const served = await serve({ settings });
  const token = 'Authorization: Bearer a token';
  const gauges = () => ({ cluster: null, walBytes: 1, connections: 0, connectionsRefused: 0 });
  const metrics = listenMetrics(served.service.composed.service, gauges);
  for (const [start, host, status] of [
    ['GET /metrics HTTP/1.0', [], 200],
    ['GET /metrics?a HTTP/1.1', ['Host: localhost', CLOSE], 200],
    ['GET /metrics HTTP/1.1', ['Host: a/b', CLOSE], 200],
    ['GET /metrics HTTP/1.1', ['Host: a:99999', CLOSE], 200],
    ['GET /metric HTTP/1.1', ['Host: localhost', CLOSE], 404],
    ['GET /a/metrics HTTP/1.1', ['Host: localhost', CLOSE], 404],
  ] as const) {
    const heard = await exchange(metrics.port, request(start, [token, ...host]));
    expect([start, heard.status]).toEqual([start, status]);
  }
  await metrics.stop();
  await served.close();
});

describe('a second request, or the end of the client, comes before an answer that waits for the ledger', () => {
  let served: Served;
  let key = '';
  let keyId = '';
  beforeAll(async () => {
    // The flush is so slow that the end of the connection is seen first.
    served = await serve({ addedFlushMs: 20 });
    ({ key, keyId } = await served.service.createKey({ remaining: 1000 }));
  });
  afterAll(() => served.close());

  const body = () => JSON.stringify({ key });
  const remaining = async (): Promise<number> =>
    ((await served.service.ok('/v1/keys.getKey', { keyId })) as { remaining: number }).remaining;

  test('two chunked verifications in one write: two answers, two credits', async () => {
    const before = await remaining();
    const received = await sendAndEnd(served.server.port, chunked(body()) + chunked(body(), CLOSE));
    const told = answersIn(received).map((each) => [each.status, each.headers['connection'], JSON.parse(each.body)]);
    expect(told).toMatchObject([
      [200, undefined, { remaining: before - 1 }],
      [200, 'close', { remaining: before - 2 }],
    ]);
    expect(await remaining()).toBe(before - 2);
  });

  test.each([
    ['a verification', () => verification(body())],
    ['one in chunks', () => chunked(body())],
    ['several of them', () => verification(body()) + chunked(body()) + verification(body())],
  ])('a client that ends its side behind %s gets every answer', async (_name, bytes) => {
    const before = await remaining();
    const count = bytes().split('HTTP/1.1').length - 1;
    const answers = answersIn(await sendAndEnd(served.server.port, bytes()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
    expect(await remaining()).toBe(before - count);
  });
});

describe('every request and answer', () => {
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
    const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

    test.each([
      ['/v1/keys.verifyKey', 8192],
      ['/v1/apis.createApi', 65_536],
    ])(
      '%s: a chunked body past %p bytes is answered 413 in JSON, and the connection closes',
      async (path, maxBytes) => {
        const pieces = Array.from({ length: maxBytes / 4096 + 1 }, () => chunkOf(' '.repeat(4096)));
        const heard = await exchange(server.port, head(path, authorization(), 'Transfer-Encoding: chunked'), ...pieces);
        expect([heard.status, heard.headers['content-type'], heard.headers['connection']]).toEqual([
          413,
          'application/json',
          'close',
        ]);
        expect(JSON.parse(heard.body)).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
      },
    );

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
      const sent = head('/v1/keys.verifyKey', 'Transfer-Encoding: chunked', 'Connection: close');
      const heard = await exchange(server.port, sent, chunkOf(text.slice(0, 5)), chunkOf(text.slice(5)), '0\r\n\r\n');
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
});
