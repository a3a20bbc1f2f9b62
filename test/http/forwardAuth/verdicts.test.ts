import { describe, expect, test } from 'bun:test';

import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { VERDICT_STATUS } from '../../../src/http/verify/verdictAnswer.ts';
import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { codeOf, forward, FORWARD } from './forwardSetup.ts';

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
