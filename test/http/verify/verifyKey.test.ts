import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const update = (keyId: string, fields: object) => service.ok('/v1/keys.updateKey', { keyId, ...fields });
const ask = (body: unknown) => service.call('/v1/keys.verifyKey', body, { rootKey: null });

test('the first failing check names the code: each one is seen when those before it have been put right', async () => {
  const apiId = await service.createApi();
  const { key, keyId } = await service.createKey({
    apiId,
    enabled: false,
    remaining: 0,
    ipAllowlist: ['10.0.0.0/8'],
    ratelimits: [
      { name: 'strict', limit: 1, duration: 60_000, async: false },
      { name: 'local', limit: 1, duration: 60_000, async: true },
    ],
  });
  await update(keyId, { expires: service.clock.nowMs() });
  const over = (...names: string[]) => names.map((name) => ({ name, cost: 2 }));
  const asked: Record<string, unknown> = { apiId: 'api_other', ratelimits: over('strict', 'local') };
  const seen: string[] = [];
  const look = async (): Promise<void> => void seen.push((await service.verify(key, asked)).code as string);
  expect((await service.verify(`${key}x`, asked)).code).toBe('NOT_FOUND');
  await look();
  asked['apiId'] = apiId;
  await look();
  await update(keyId, { enabled: true });
  await look();
  await update(keyId, { expires: null });
  await look();
  asked['clientIp'] = '10.1.2.3';
  expect((await service.verify(key, asked)).ratelimits).toMatchObject([{ name: 'local', exceeded: true }]);
  await look();
  asked['ratelimits'] = over('strict');
  expect((await service.verify(key, asked)).ratelimits).toMatchObject([{ exceeded: true }, { exceeded: false }]);
  await look();
  delete asked['ratelimits'];
  await look();
  await update(keyId, { remaining: 1 });
  await look();
  expect(seen).toEqual([
    'FORBIDDEN',
    'DISABLED',
    'EXPIRED',
    'FORBIDDEN',
    'RATE_LIMITED',
    'RATE_LIMITED',
    'USAGE_EXCEEDED',
    'VALID',
  ]);
});

describe('the fields of a verdict', () => {
  test('a plain key: nothing that was not set', async () => {
    const { key, keyId } = await service.createKey();
    const verdict = await service.verify(key);
    const requestId = expect.stringMatching(/^req_[1-9A-HJ-NP-Za-km-z]{26}$/) as string;
    expect(verdict).toEqual({
      valid: true,
      code: 'VALID',
      requestId,
      keyId,
      meta: {},
      enabled: true,
      permissions: [],
      roles: [],
    });
  });

  test('a key with everything: all of it, as it was given', async () => {
    const expires = Date.parse('2027-01-01T00:00:00Z');
    const { key, keyId } = await service.createKey({
      name: 'Zoë "the" key',
      externalId: 'user_1',
      meta: { plan: 'free', nested: { list: [1, null, true] } },
      expires,
      environment: 'live',
      permissions: ['documents.write', 'documents.read'],
      roles: ['editor'],
      remaining: 5,
      ratelimit: { limit: 3, duration: 60_000 },
      ratelimits: [{ name: 'day', limit: 9, duration: 86_400_000, async: false }],
      ipAllowlist: ['203.0.113.7'],
    });
    const reset = Date.parse('2026-03-15T12:01:00Z');
    const verdict = await service.verify(key);
    expect(verdict).toEqual({
      valid: true,
      code: 'VALID',
      requestId: verdict.requestId,
      keyId,
      name: 'Zoë "the" key',
      ownerId: 'user_1',
      meta: { plan: 'free', nested: { list: [1, null, true] } },
      expires,
      enabled: true,
      environment: 'live',
      permissions: ['documents.read', 'documents.write'],
      roles: ['editor'],
      identity: { id: expect.stringMatching(/^id_/) as string, externalId: 'user_1', meta: {} },
      remaining: 4,
      ratelimit: { limit: 3, remaining: 2, reset },
      ratelimits: [
        { name: 'default', limit: 3, duration: 60_000, remaining: 2, reset, async: true, exceeded: false },
        {
          name: 'day',
          limit: 9,
          duration: 86_400_000,
          remaining: 8,
          reset: Date.parse('2026-03-16T00:00:00Z'),
          async: false,
          exceeded: false,
        },
      ],
    });
  });

  test('a refusal describes the key in the same words', async () => {
    const { key, keyId } = await service.createKey({ name: 'n', meta: { a: 1 }, environment: 'e', enabled: false });
    expect(await service.verify(key)).toMatchObject({
      valid: false,
      code: 'DISABLED',
      keyId,
      name: 'n',
      meta: { a: 1 },
      enabled: false,
      environment: 'e',
    });
  });

  test('two keys of one owner share the identity, in any api; externalId wins over ownerId', async () => {
    const first = await service.createKey({ ownerId: 'user_1' });
    const second = await service.createKey({ externalId: 'user_1', ownerId: 'user_2' });
    const identities = [(await service.verify(first.key)).identity, (await service.verify(second.key)).identity];
    expect(identities[0].externalId).toBe('user_1');
    expect(identities[1]).toEqual(identities[0]);
  });

  test('no two answers share a request id', async () => {
    const { key } = await service.createKey();
    const verdicts = await Promise.all(Array.from({ length: 500 }, () => service.verify(key)));
    expect(new Set(verdicts.map(({ requestId }) => requestId as string)).size).toBe(500);
  });
});

describe('a key that no key can be', () => {
  test.each([
    ['unknown', 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J'],
    ['of 512 characters', 'a'.repeat(512)],
    ['of 513 characters', 'a'.repeat(513)],
    ['not ASCII', 'schlüssel'],
    ['an emoji', '🔑'],
    ['a lone surrogate', '\uD800'],
    ['with a NUL inside', 'a\u0000b'],
    ['with a line break', 'a\nb'],
    ['with DEL', 'a\u007fb'],
    ['only a space', ' '],
    ['SQL', "' OR 1=1 --"],
  ])('%s: the verdict NOT_FOUND, which says no more than meta {}', async (_name, key) => {
    const verdict = await service.verify(key);
    expect(verdict).toEqual({ valid: false, code: 'NOT_FOUND', requestId: verdict.requestId, meta: {} });
  });

  test.each([
    ['with a blank before it', (key: string) => ` ${key}`],
    ['with a blank behind it', (key: string) => `${key} `],
    ['with a NUL behind it', (key: string) => `${key}\u0000`],
    ['in other case', (key: string) => key.toUpperCase()],
    ['cut by a character', (key: string) => key.slice(0, -1)],
  ])('a real one %s is not found', async (_name, change) => {
    const { key } = await service.createKey({ prefix: 'demo' });
    expect((await service.verify(change(key))).code).toBe('NOT_FOUND');
  });

  test.each([
    ['empty', { key: '' }, 'key must be a string of at least 1 character, got ""'],
    ['absent', {}, 'key is missing'],
    ['null', { key: null }, 'key must be a string of at least 1 character, got null'],
    ['a number', { key: 5 }, 'key must be a string of at least 1 character, got a number (not shown)'],
    ['a list', { key: ['a'] }, 'key must be a string of at least 1 character, got a list of 1 item'],
    ['an object', { key: {} }, 'key must be a string of at least 1 character, got an object'],
  ])('%s is a 400', async (_name, body, message) => {
    const answer = await ask(body);
    expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([400, 'BAD_REQUEST', message]);
  });
});

describe('expiry', () => {
  test('valid strictly before the instant, expired at it and after, and not again by a longer life of the cache', async () => {
    const expires = Date.parse('2026-03-15T13:00:00Z');
    const { key } = await service.createKey({ expires });
    service.clock.set(expires - 1);
    expect(await service.verify(key)).toMatchObject({ code: 'VALID', expires });
    service.clock.set(expires);
    expect(await service.verify(key)).toMatchObject({ valid: false, code: 'EXPIRED', expires });
    service.clock.set(expires + 1);
    expect((await service.verify(key)).code).toBe('EXPIRED');
  });

  test('set to the past by an update it means expired at once; cleared, valid again', async () => {
    const { key, keyId } = await service.createKey();
    await service.verify(key);
    await update(keyId, { expires: 0 });
    expect((await service.verify(key)).code).toBe('EXPIRED');
    await update(keyId, { expires: null });
    expect(await service.verify(key)).toMatchObject({ code: 'VALID' });
    expect(await service.verify(key)).not.toHaveProperty('expires');
  });
});

const verifyKeys = (keys: unknown, options = {}) =>
  service.call('/v1/keys.verifyKeys', { keys }, { rootKey: null, ...options });

describe('keys.verifyKeys', () => {
  test('each request gets the verdict that keys.verifyKey gives, in order', async () => {
    const counted = await service.createKey({ remaining: 2, name: 'counted' });
    const disabled = await service.createKey({ enabled: false });
    const { status, body } = await verifyKeys([
      { key: counted.key },
      { key: disabled.key },
      { key: 'unknown' },
      { key: counted.key, apiId: disabled.apiId },
      { key: counted.key, remaining: { cost: 0 } },
      { key: counted.key },
      { key: counted.key },
    ]);
    expect(status).toBe(200);
    const shown = (body.results as Record<string, unknown>[]).map(({ code, remaining, name }) => [
      code,
      remaining,
      name,
    ]);
    expect(shown).toEqual([
      ['VALID', 1, 'counted'],
      ['DISABLED', undefined, undefined],
      ['NOT_FOUND', undefined, undefined],
      ['FORBIDDEN', 2, 'counted'],
      ['VALID', 1, 'counted'],
      ['VALID', 0, 'counted'],
      ['USAGE_EXCEEDED', 0, 'counted'],
    ]);
    const ids = (body.results as { requestId: string }[]).map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(7);
  });

  test('one that cannot be decided has its error in its place, and the others stand', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const { status, body } = await verifyKeys([{ key }, { key, ratelimits: [{ name: 'nowhere' }] }, { key }]);
    expect(status).toBe(200);
    expect(body.results).toMatchObject([{ remaining: 4 }, { error: { code: 'BAD_REQUEST' } }, { remaining: 3 }]);
  });

  test('a request that cannot be understood is a 400 for all, and takes nothing', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    for (const [keys, path] of [
      [[{ key }, { key: 5 }], 'keys[1].key'],
      [[{ key }, { key, nonsense: 1 }], 'keys[1].nonsense'],
      [[{ key }, { key, clientIp: 'nowhere' }], 'clientIp'],
      [[{ key }, { key, authorization: { permissions: { and: [] } } }], 'authorization.permissions'],
      [[], 'keys'],
      [Array.from({ length: 101 }, () => ({ key })), 'keys'],
      ['x', 'keys'],
    ] as const) {
      const { status, body } = await verifyKeys(keys);
      expect([status, body.error.issues.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
    }
    expect(await service.verify(key)).toMatchObject({ remaining: 4 });
  });

  test('idempotency keys count for each request by itself', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const one = { key, idempotencyKey: 'retry-0001' };
    const first = (await verifyKeys([one, one, { ...one, idempotencyKey: 'retry-0002' }])).body.results;
    expect(first).toMatchObject([{ remaining: 4 }, { remaining: 4 }, { remaining: 3 }]);
  });

  test('100 requests of one key with 50 credits: exactly 50 pass', async () => {
    const { key } = await service.createKey({ remaining: 50 });
    const { body } = await verifyKeys(Array.from({ length: 100 }, () => ({ key })));
    expect((body.results as { valid: boolean }[]).map(({ valid }) => valid)).toEqual(
      Array.from({ length: 100 }, (_, i) => i < 50),
    );
  });

  test('needs a root key where verifying does, and sees the keys of its apis alone', async () => {
    await service.close();
    service = await TestService.start({ settings: { KEYSTILE_VERIFY_AUTH: 'required' } });
    const [mine, other] = [await service.createKey(), await service.createKey()];
    expect((await verifyKeys([{ key: mine.key }])).status).toBe(401);
    const rights = [`api.${mine.apiId}.verify_key`];
    const { secret } = await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
    const { body } = await verifyKeys([{ key: mine.key }, { key: other.key }], { rootKey: secret });
    expect((body.results as { code: string }[]).map(({ code }) => code)).toEqual(['VALID', 'NOT_FOUND']);
  });
});
