import { describe, expect, test, afterEach, afterAll, beforeAll } from 'bun:test';

import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { VERDICT_STATUS } from '../../../src/http/verify/verdictAnswer.ts';
import { reuseService } from '../../support/reusedService.ts';
import { TestService, type Answer, type CallOptions } from '../../support/service.ts';
import { exchange } from '../front/connection.ts';
import { answersIn, chunk, request, sendAndEnd, type Served, serve } from '../front/wire.ts';

const FORWARD = '/v1/keys.forwardAuth';

interface Forwarded extends CallOptions {
  /** The query that the gateway's configuration has. */
  readonly query?: string;
}

/** The subrequest of a gateway for a client that sends this key. */
function forward(service: TestService, key: string | null, options: Forwarded = {}): Promise<Answer> {
  const { query = '', ...rest } = options;
  return service.call(FORWARD + query, undefined, { method: 'GET', rootKey: key, ...rest });
}

const codeOf = ({ status, headers }: Answer): [number, string | null] => [status, headers.get('keystile-code')];

const service = reuseService();

const WINDOW = { limit: 1, duration: 60_000 };
const UNKNOWN = 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J';

test('the table has every verdict and "no verdict", and no status that a gateway would not understand', () => {
  expect(Object.keys(VERDICT_STATUS).sort()).toEqual([...VERDICT_CODES, 'UNAVAILABLE'].sort());
  expect(VERDICT_STATUS).toEqual({
    VALID: 200,
    NOT_FOUND: 401,
    DISABLED: 401,
    EXPIRED: 401,
    FORBIDDEN: 403,
    INSUFFICIENT_PERMISSIONS: 403,
    RATE_LIMITED: 429,
    USAGE_EXCEEDED: 429,
    UNAVAILABLE: 503,
  });
});

describe('a refusal has its status and says why', () => {
  const refusals: readonly [code: string, status: number, fields: object, query?: string][] = [
    ['DISABLED', 401, { enabled: false }],
    ['FORBIDDEN', 403, { ipAllowlist: ['192.0.2.1'] }],
    ['INSUFFICIENT_PERMISSIONS', 403, {}, '?permission=orders.read'],
    ['RATE_LIMITED', 429, { ratelimit: { ...WINDOW, async: false } }],
    ['USAGE_EXCEEDED', 429, { remaining: 0 }],
  ];

  test.each(refusals)('%s: %i', async (code, status, fields, query = '') => {
    const { key, keyId } = await service().createKey(fields as Record<string, unknown>);
    if (code === 'RATE_LIMITED') expect((await forward(service(), key)).status).toBe(200);
    const answer = await forward(service(), key, { query });
    expect([...codeOf(answer), answer.headers.get('keystile-key-id')]).toEqual([status, code, keyId]);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer realm="keystile"' : null);
    const retryable = code === 'RATE_LIMITED';
    expect(answer.headers.get('keystile-retryable')).toBe(String(retryable));
    expect(answer.body).toEqual({
      valid: false,
      code,
      requestId: answer.headers.get('keystile-request-id'),
      retryable,
    });
  });

  test('EXPIRED: 401', async () => {
    const { key } = await service().createKey({ expires: service().clock.nowMs() + 1000 });
    expect(codeOf(await forward(service(), key))).toEqual([200, 'VALID']);
    service().clock.advance(1000);
    expect(codeOf(await forward(service(), key))).toEqual([401, 'EXPIRED']);
  });

  test('NOT_FOUND: 401, and no key has an id', async () => {
    const answer = await forward(service(), UNKNOWN);
    expect(codeOf(answer)).toEqual([401, 'NOT_FOUND']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="keystile"');
    expect(answer.headers.get('keystile-key-id')).toBeNull();
  });

  test('FORBIDDEN: a key of another api', async () => {
    const { key } = await service().createKey();
    const query = `?apiId=${await service().createApi()}`;
    expect(codeOf(await forward(service(), key, { query }))).toEqual([403, 'FORBIDDEN']);
  });
});

test('a request that may pass tells whose it is, what is left, and its limits', async () => {
  const fields = { externalId: 'user_1', remaining: 5, ratelimit: { limit: 10, duration: 60_000 } };
  const { key, keyId } = await service().createKey(fields);
  const { status, headers, body } = await forward(service(), key, { query: '?cost=2' });
  expect([status, body]).toEqual([200, { valid: true, code: 'VALID', requestId: headers.get('keystile-request-id') }]);
  expect(Object.fromEntries(headers)).toMatchObject({
    'keystile-code': 'VALID',
    'keystile-key-id': keyId,
    'keystile-external-id': 'user_1',
    'keystile-remaining': '3',
    'ratelimit-policy': '"default";q=10;w=60',
    ratelimit: '"default";r=9;t=60',
    'content-type': 'application/json',
  });
});

test('a key without an owner, credits and limits has no header for them', async () => {
  const { key } = await service().createKey();
  const { headers } = await forward(service(), key);
  const names = [...headers.keys()].filter((name) => /^keystile|limit|retry/.test(name));
  expect(names.sort()).toEqual(['keystile-code', 'keystile-key-id', 'keystile-request-id']);
});

test('a limited refusal says when to come back', async () => {
  const { key } = await service().createKey({ ratelimit: { ...WINDOW, async: false } });
  await forward(service(), key);
  const { headers } = await forward(service(), key);
  expect([headers.get('retry-after'), headers.get('ratelimit')]).toEqual(['60', '"default";r=0;t=60']);
});

test('credits that are refilled say when to come back, and others that it does not help', async () => {
  const refill = { interval: 'daily', amount: 5 };
  const fromNoonToMidnight = 12 * 60 * 60;
  for (const [fields, retryAfter, retryable] of [
    [{ remaining: 0, refill }, String(fromNoonToMidnight), true],
    [{ remaining: 0 }, null, false],
  ] as const) {
    const { key } = await service().createKey(fields);
    const { headers, body } = await forward(service(), key);
    expect([headers.get('retry-after'), headers.get('keystile-retryable')]).toEqual([retryAfter, String(retryable)]);
    expect(body).toMatchObject({ code: 'USAGE_EXCEEDED', retryable });
  }
  const { key } = await service().createKey();
  expect((await forward(service(), key)).headers.has('keystile-retryable')).toBe(false);
});

test('any text as an external id, a name or the name of a limit stays inside its header', async () => {
  const texts = ['a\r\nKeystile-Code: VALID\r\n\r\n<b>', '\u0001\u007f\u0085\u2028', '日本 😀,;"%', ' blank '];
  for (const externalId of [...texts, '😀'.repeat(256)]) {
    const limit = { name: Array.from(`x${externalId}`).slice(0, 64).join(''), limit: 5, duration: 60_000, async: true };
    const { key } = await service().createKey({ externalId, name: externalId, ratelimits: [limit] });
    const { status, headers } = await forward(service(), key);
    const shown = headers.get('keystile-external-id') ?? '';
    expect([status, headers.get('keystile-code'), decodeURIComponent(shown)]).toEqual([200, 'VALID', externalId]);
    expect(shown).toMatch(/^[\x21-\x7e]+$/);
    expect(headers.get('ratelimit')).toMatch(/^[\x20-\x7e]+$/);
  }
});

test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
  '%s is verified like every other method',
  async (method) => {
    const { key, keyId } = await service().createKey({ remaining: 1 });
    const [refused, passed, spent] = [
      await forward(service(), null, { method }),
      await forward(service(), key, { method }),
      await forward(service(), key, { method }),
    ];
    expect([refused, passed, spent].map(({ status }) => status)).toEqual([401, 200, 429]);
    expect(passed.headers.get('keystile-key-id')).toBe(keyId);
    expect(passed.text === '').toBe(method === 'HEAD');
  },
);

test('a browser page of another origin gets nothing from it, also where other routes are open to pages', async () => {
  const open = await TestService.start({ settings: { KEYSTILE_CORS_ORIGINS: '*' } });
  const options = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
  };
  const { status, headers } = await forward(open, null, options);
  const names = [...headers.keys()].filter((name) => name.startsWith('access-control'));
  expect([status, names, headers.get('vary')]).toEqual([401, [], null]);
  await open.close();
});

describe('deny=403', () => {
  const query = '?deny=403';

  test('a 429 is a 403 with the same headers; 200 and 401 stay', async () => {
    const { key } = await service().createKey({ ratelimit: { ...WINDOW, async: false } });
    expect(codeOf(await forward(service(), key, { query }))).toEqual([200, 'VALID']);
    const limited = await forward(service(), key, { query });
    expect([...codeOf(limited), limited.headers.get('retry-after')]).toEqual([403, 'RATE_LIMITED', '60']);
    expect(limited.body.code).toBe('RATE_LIMITED');
    const { key: spent } = await service().createKey({ remaining: 0 });
    expect(codeOf(await forward(service(), spent, { query }))).toEqual([403, 'USAGE_EXCEEDED']);
    expect(codeOf(await forward(service(), UNKNOWN, { query }))).toEqual([401, 'NOT_FOUND']);
  });

  test('no verdict is a 503, or a 403 that says so', async () => {
    const full = await TestService.start();
    const { key } = await full.createKey({ remaining: 1_000_000 });
    await full.fillDisk();
    // The last page may have space for a few more.
    while ((await forward(full, key)).status === 200);
    const [plain, denied] = [await forward(full, key), await forward(full, key, { query })];
    expect([codeOf(plain), codeOf(denied)]).toEqual([
      [503, 'UNAVAILABLE'],
      [403, 'UNAVAILABLE'],
    ]);
    for (const { headers, body } of [plain, denied]) {
      expect([headers.get('retry-after'), body.error.code]).toEqual(['1', 'UNAVAILABLE']);
    }
    await full.close();
  });
});

test('it takes the same from a key as keys.verifyKey, and counts once in analytics', async () => {
  const { key, keyId, apiId } = await service().createKey({ remaining: 10 });
  await forward(service(), key, { query: '?cost=3&tag=b&tag=a' });
  expect((await service().verify(key, { tags: ['a', 'b'] })).remaining).toBe(6);
  expect((await service().ok('/v1/keys.getKey', { keyId })).remaining).toBe(6);
  const rows = await service().ok('/v1/analytics.getVerifications', { apiId, groupBy: 'tags' });
  expect(rows).toMatchObject([{ valid: 2, total: 2, tags: ['a', 'b'] }]);
});

test('KEYSTILE_RATELIMIT_HEADERS=off leaves out the headers of limits', async () => {
  const quiet = await TestService.start({ settings: { KEYSTILE_RATELIMIT_HEADERS: 'off' } });
  const { key } = await quiet.createKey({ ratelimit: WINDOW });
  const { headers } = await quiet.call(FORWARD, undefined, { method: 'GET', rootKey: key });
  expect([headers.get('keystile-code'), headers.get('ratelimit')]).toEqual(['VALID', null]);
  await quiet.close();
});

describe('who asks', () => {
  let open: TestService;

  async function start(settings: Record<string, string> = {}): Promise<void> {
    open = await TestService.start({ settings });
  }

  afterEach(async () => {
    await open.close();
  });

  describe('the key of the client', () => {
    test('comes from Authorization or X-API-Key, or from both when they are equal', async () => {
      await start();
      const { key } = await open.createKey();
      for (const headers of [
        { authorization: `Bearer ${key}` },
        { authorization: `bearer  ${key}` },
        { 'x-api-key': key },
        { authorization: `Bearer ${key}`, 'x-api-key': key },
        { authorization: 'Basic YTpi', 'x-api-key': key },
      ]) {
        expect(codeOf(await forward(open, null, { headers }))).toEqual([200, 'VALID']);
      }
    });

    test('without one key that is clear the answer is a 401, and nothing is taken', async () => {
      await start();
      const { key, keyId } = await open.createKey({ remaining: 5 });
      const { key: other } = await open.createKey({ remaining: 5 });
      const cases: Record<string, string>[] = [
        {},
        { authorization: '' },
        { authorization: 'Bearer' },
        { authorization: 'Bearer ' },
        { authorization: key },
        { authorization: `Basic ${key}` },
        { authorization: `Bearer ${key}, Bearer ${other}` },
        { authorization: `Bearer ${key}, Bearer ${key}` },
        { authorization: `Basic YTpi, Bearer ${key}` },
        { authorization: `Bearer ${key} x` },
        { authorization: `Bearer ${key}`, 'x-api-key': other },
        { authorization: `Bearer ${key}, Bearer ${other}`, 'x-api-key': key },
        { authorization: 'Bearer', 'x-api-key': key },
        { 'x-api-key': `${key}, ${other}` },
        { 'x-api-key': '' },
        { authorization: `Bearer ${key}`, 'x-api-key': '' },
        { cookie: `key=${key}`, 'proxy-authorization': `Bearer ${key}`, 'keystile-key': key },
      ];
      for (const headers of cases) {
        const answer = await forward(open, null, { headers });
        expect([headers, ...codeOf(answer)]).toEqual([headers, 401, 'UNAUTHORIZED']);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="keystile"');
        expect(answer.text).not.toContain(key);
      }
      expect((await open.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
    });

    test('a text that no key can be is an unknown key', async () => {
      await start();
      for (const key of ['x', 'x'.repeat(5_000), '\u00e9\u00e9', 'a"b\\c']) {
        expect(codeOf(await forward(open, key))).toEqual([401, 'NOT_FOUND']);
      }
    });
  });

  describe('KEYSTILE_VERIFY_AUTH=required', () => {
    const required = { KEYSTILE_VERIFY_AUTH: 'required' };
    const withRoot = (secret: string) => ({ headers: { 'keystile-root-key': secret } });

    test('the root key stands in Keystile-Root-Key, and its rights hold', async () => {
      await start(required);
      const [mine, other] = [await open.createKey(), await open.createKey()];
      const rights = [`api.${mine.apiId}.verify_key`];
      const { secret } = await open.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
      expect(codeOf(await forward(open, mine.key, withRoot(secret)))).toEqual([200, 'VALID']);
      expect(codeOf(await forward(open, other.key, withRoot(secret)))).toEqual([401, 'NOT_FOUND']);
    });

    test('without a good root key of the gateway the answer is a 403, never a 401, and nothing is taken', async () => {
      await start(required);
      const { key, keyId } = await open.createKey({ remaining: 5 });
      const { secret } = await open.engine.rootKeys.create({
        name: null,
        rights: ['api.*.read_key'],
        expiresAtMs: null,
      });
      const missing = 'The root key of the gateway is missing: let the gateway set the header Keystile-Root-Key, once.';
      const unknown =
        'The root key that the gateway set in Keystile-Root-Key is refused. This root key is unknown. Check that it is complete, and that it is one of this service.';
      for (const [client, headers, message] of [
        [key, {}, missing],
        // Neither a key of a client is a root key, nor a root key in the place of the client's key.
        [open.rootKey, {}, missing],
        [key, { 'keystile-root-key': `${open.rootKey}, ${open.rootKey}` }, missing],
        [key, { 'keystile-root-key': '' }, missing],
        [key, { 'keystile-root-key': 'root_wrong' }, unknown],
        [key, { 'keystile-root-key': key }, unknown],
        [key, { 'keystile-root-key': secret }, 'This root key lacks the right api.*.verify_key.'],
      ] as const) {
        const { status, body } = await forward(open, client, { headers });
        expect([status, body.error.code, body.error.message]).toEqual([403, 'INSUFFICIENT_PERMISSIONS', message]);
      }
      expect((await open.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
    });

    test('the quota of the root key holds: 429, or 403 that says so', async () => {
      await start({ ...required, KEYSTILE_MAX_VERIFICATIONS_PER_SECOND: '1' });
      const { key } = await open.createKey();
      const options = withRoot(open.rootKey);
      expect((await forward(open, key, options)).status).toBe(200);
      const over = await forward(open, key, options);
      expect([...codeOf(over), over.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '1']);
      const denied = await forward(open, key, { ...options, query: '?deny=403' });
      expect([...codeOf(denied), denied.headers.get('retry-after')]).toEqual([403, 'RATE_LIMITED', '1']);
    });
  });

  test('where everyone may verify, Keystile-Root-Key is not looked at', async () => {
    await start();
    const { key } = await open.createKey();
    expect((await forward(open, key, { headers: { 'keystile-root-key': 'root_wrong' } })).status).toBe(200);
  });

  describe('the address that an allowlist sees', () => {
    const fromClient = (peer: string, forwarded?: string) => ({
      peer,
      headers: {
        // Only X-Forwarded-For counts, and only of a trusted gateway.
        'x-real-ip': '192.0.2.1',
        'keystile-client-ip': '192.0.2.1',
        forwarded: 'for=192.0.2.1',
        ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
      },
    });

    test.each([
      [{}, '192.0.2.1', undefined, 200],
      [{}, '10.0.0.1', '192.0.2.1', 403],
      [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '192.0.2.1', 200],
      [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '192.0.2.1, 198.51.100.1', 403],
      [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '198.51.100.1, 192.0.2.1', 200],
      [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', undefined, 403],
      [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.2', '192.0.2.1', 403],
    ] as const)('with %o, from %s for %s: %i', async (settings, peer, forwarded, status) => {
      await start(settings);
      const { key } = await open.createKey({ ipAllowlist: ['192.0.2.1'] });
      expect((await forward(open, key, fromClient(peer, forwarded))).status).toBe(status);
    });
  });
});

describe('the query of the gateway', () => {
  test('every permission that it names is needed', async () => {
    const { key } = await service().createKey({ permissions: ['a', 'b'] });
    const codes = await Promise.all(
      ['?permission=a', '?permission=a&permission=b', '?permission=a&permission=c', '?permission=a,b'].map(
        async (query) => (await forward(service(), key, { query })).headers.get('keystile-code'),
      ),
    );
    expect(codes).toEqual(['VALID', 'VALID', 'INSUFFICIENT_PERMISSIONS', 'INSUFFICIENT_PERMISSIONS']);
  });

  test.each([
    ['?Cost=0', 'unknown field `Cost`, did you mean `cost`?'],
    ['?pretty', 'unknown field `pretty`'],
    ['?cost=-1', 'cost must be a whole number from 0 to 9007199254740991, got "-1"'],
    ['?cost=9007199254740993', 'cost must be a whole number from 0 to 9007199254740991, got 9007199254740992'],
    ['?cost=', 'cost must be a whole number from 0 to 9007199254740991, got ""'],
    ['?cost=1e3', 'cost must be a whole number from 0 to 9007199254740991, got "1e3"'],
    ['?cost=1&cost=1', 'A parameter of the query was sent twice. Only permission and tag may be repeated.'],
    ['?deny=403&deny=403', 'A parameter of the query was sent twice. Only permission and tag may be repeated.'],
    ['?deny=401', 'deny must be "403", got "401"'],
    ['?apiId=', 'apiId must be a string of 1 to 128 characters, got ""'],
    ['?permission=', 'permission[0] must be a string of 1 to 512 characters, got ""'],
    ['?permission=%00', 'permission[0] must not contain NUL or lone surrogates, got "\\u0000"'],
    ['?permission=%ff', 'The query has a "%" that does not begin an escaped character of UTF-8.'],
    ['?__proto__=1', 'unknown field `__proto__`'],
    [`?${'permission=a&'.repeat(100)}`, 'permission must be a list of 0 to 99 items, got a list of 100 items'],
    [`?${'tag=a&'.repeat(113)}`, 'The query must have at most 112 parameters, got 113.'],
    [`?${'tag=a&'.repeat(11)}`, 'tag must be a list of 0 to 10 items, got a list of 11 items'],
  ])('%s is a 400 that says what is wrong, and nothing is taken', async (query, message) => {
    const { key, keyId } = await service().createKey({ remaining: 5 });
    const { status, body } = await forward(service(), key, { query });
    expect([status, body.error.code, body.error.message]).toEqual([400, 'BAD_REQUEST', message]);
    expect((await service().ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
  });

  test('99 permissions can be asked for', async () => {
    const { key } = await service().createKey({ permissions: ['a'] });
    const query = `?${'permission=a&'.repeat(99)}`;
    expect((await forward(service(), key, { query })).status).toBe(200);
  });

  test('a query over the bound of the head is a 431', async () => {
    const { key } = await service().createKey();
    expect((await forward(service(), key, { query: `?tag=${'a'.repeat(17_000)}` })).status).toBe(431);
  });

  test('a key in the query is not accepted, not repeated and not logged', async () => {
    const { key } = await service().createKey();
    const before = service().logLines.length;
    for (const query of [
      `?key=${key}`,
      `?${key}`,
      `?${key}=1`,
      `?cost=${key}`,
      `?deny=${key}`,
      `?apiId=${key}&cost=x`,
    ]) {
      const { status, text } = await forward(service(), null, { query });
      expect([query, status]).toEqual([query, 400]);
      expect(text).not.toContain(key);
    }
    expect(service().logLines.slice(before).join('\n')).not.toContain(key);
  });
});

test('headers of a client that look like settings change nothing', async () => {
  const { key, keyId, apiId } = await service().createKey({ remaining: 10 });
  const other = await service().createApi();
  const names = ['cost', 'permission', 'permissions', 'apiId', 'tag', 'deny', 'remaining', 'client-ip', 'query'];
  const headers = Object.fromEntries(
    names.flatMap((name) => [`keystile-${name}`, `x-keystile-${name}`, `x-${name}`, name].map((each) => [each, '0'])),
  );
  const more = {
    'keystile-api-id': other,
    'x-original-uri': '/?cost=0',
    'x-forwarded-uri': '/v1/keys.forwardAuth?cost=0',
    'x-rewrite-url': '/v1/keys.forwardAuth?cost=0',
    'x-http-method-override': 'POST',
    'content-type': 'application/json',
  };
  const passed = await forward(service(), key, { query: `?cost=4&apiId=${apiId}`, headers: { ...headers, ...more } });
  expect([...codeOf(passed), passed.headers.get('keystile-remaining')]).toEqual([200, 'VALID', '6']);
  const refused = await forward(service(), key, { query: '?permission=orders.read', headers: { ...headers, ...more } });
  expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  expect((await service().ok('/v1/keys.getKey', { keyId })).remaining).toBe(6);
});

test('an idempotency key of a client does not make its requests free', async () => {
  const { key } = await service().createKey({ remaining: 5 });
  const headers = { 'idempotency-key': 'the-same-each-time' };
  const left = [await forward(service(), key, { headers }), await forward(service(), key, { headers })];
  expect(left.map((answer) => answer.headers.get('keystile-remaining'))).toEqual(['4', '3']);
  expect(left.map((answer) => answer.headers.get('keystile-replayed'))).toEqual([null, null]);
});

test('a body is ignored, whatever it is', async () => {
  const { key, keyId } = await service().createKey({ remaining: 10 });
  const bodies = [
    JSON.stringify({ key: 'another', remaining: { cost: 0 } }),
    '{not json',
    new Uint8Array([0xff, 0xfe]),
    'x'.repeat(8 * 1024),
    'x'.repeat(100_000),
  ];
  for (const raw of bodies) expect((await forward(service(), key, { method: 'POST', raw })).status).toBe(200);
  expect((await forward(service(), key, { method: 'PUT', chunks: ['a', 'b'] })).status).toBe(200);
  expect((await service().ok('/v1/keys.getKey', { keyId })).remaining).toBe(4);
});

describe('over the wire', () => {
  const CLOSE = 'Connection: close';

  let served: Served;
  let key = '';
  let other = '';

  beforeAll(async () => {
    served = await serve();
    ({ key } = await served.service.createKey({ remaining: 1_000_000 }));
    ({ key: other } = await served.service.createKey({ remaining: 1_000_000 }));
  });

  afterAll(() => served.close());

  const port = () => served.server.port;
  const bearer = () => `Authorization: Bearer ${key}`;
  const ask = (start: string, lines: readonly string[], body = '') =>
    exchange(port(), request(start, ['Host: localhost', CLOSE, ...lines], body));

  test('two headers Authorization, or two X-API-Key, are a 401, whether they are equal or not', async () => {
    for (const lines of [
      [bearer(), `Authorization: Bearer ${other}`],
      [bearer(), bearer()],
      [bearer(), 'authorization: Basic YTpi'],
      ['Authorization: Basic YTpi', bearer()],
      [`X-API-Key: ${key}`, `x-api-key: ${other}`],
      [`X-API-Key: ${key}`, `X-API-Key: ${key}`],
    ]) {
      const { status, headers } = await ask(`GET ${FORWARD} HTTP/1.1`, lines);
      expect([lines, status, headers['keystile-code']]).toEqual([lines, 401, 'UNAUTHORIZED']);
    }
  });

  test('HTTP/1.0, with and without Host', async () => {
    for (const host of [[], ['Host: localhost']]) {
      const { status, headers } = await exchange(port(), request(`GET ${FORWARD} HTTP/1.0`, [...host, bearer()]));
      expect([status, headers['keystile-code']]).toEqual([200, 'VALID']);
    }
  });

  test('Expect: 100-continue with a short body is answered with 100 and then with the verdict', async () => {
    const lines = ['Host: localhost', CLOSE, bearer(), 'Content-Length: 2', 'Expect: 100-continue'];
    const received = await sendAndEnd(port(), request(`POST ${FORWARD} HTTP/1.1`, lines, '{}'));
    expect(answersIn(received).map(({ status }) => status)).toEqual([100, 200]);
  });

  test('header injection: line ends and control characters in a header never reach a verdict', async () => {
    for (const line of [`X-API-Key: ${key}\rX: y`, `X-API-Key: ${key}\u0000`, `X-API-Key : ${key}`, ` ${bearer()}`]) {
      const received = await sendAndEnd(port(), request(`GET ${FORWARD} HTTP/1.1`, ['Host: localhost', CLOSE, line]));
      expect([line, answersIn(received).map(({ status }) => status)]).toEqual([line, [400]]);
    }
  });

  test('a route that looks like it is another one', async () => {
    for (const [path, status] of [
      [`${FORWARD}/`, 404],
      [`${FORWARD}/orders?cost=0`, 404],
      ['/v1/keys.forwardauth', 404],
      [`/${FORWARD}`, 200],
    ] as const) {
      expect([path, (await ask(`GET ${path} HTTP/1.1`, [bearer()])).status]).toEqual([path, status]);
    }
  });

  test('HEAD has the headers of GET and no body, and the next request on the connection is answered', async () => {
    const head = request(`HEAD ${FORWARD} HTTP/1.1`, ['Host: localhost', bearer()]);
    const answers = answersIn(await sendAndEnd(port(), head + head), true);
    expect(answers.map(({ status, headers }) => [status, headers['keystile-code']])).toEqual([
      [200, 'VALID'],
      [200, 'VALID'],
    ]);
  });

  test('a body with a length and one in chunks are skipped, and the connection goes on', async () => {
    const { key: own } = await served.service.createKey({ remaining: 4 });
    const lines = ['Host: localhost', `X-API-Key: ${own}`];
    const inner = request(`GET ${FORWARD}?cost=0 HTTP/1.1`, lines);
    const sent = [
      request(`POST ${FORWARD} HTTP/1.1`, [...lines, `Content-Length: ${inner.length}`], inner),
      request(`GET ${FORWARD} HTTP/1.1`, [...lines, `Content-Length: ${inner.length}`], inner),
      request(`PUT ${FORWARD} HTTP/1.1`, [...lines, 'Transfer-Encoding: chunked'], `${chunk(inner)}0\r\n\r\n`),
      request(`GET ${FORWARD} HTTP/1.1`, [...lines, CLOSE]),
    ];
    const answers = answersIn(await sendAndEnd(port(), sent.join('')));
    expect(answers.map(({ headers }) => headers['keystile-remaining'])).toEqual(['3', '2', '1', '0']);
  });

  test('a body that is announced and too long is not waited for', async () => {
    const lines = ['Host: localhost', bearer(), 'Content-Length: 100000000', 'Expect: 100-continue'];
    const { status, headers } = await exchange(port(), request(`POST ${FORWARD} HTTP/1.1`, lines));
    // The front says no "100 Continue": it would ask for a body that nobody reads.
    expect([status, headers['keystile-code'], headers['connection']]).toEqual([200, 'VALID', 'close']);
  });
});
