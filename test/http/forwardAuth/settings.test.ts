import { describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { codeOf, forward } from './forwardSetup.ts';

const service = reuseService();

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
