import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
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
