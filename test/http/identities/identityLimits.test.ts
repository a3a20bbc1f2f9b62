import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { identityCalls } from './identityCalls.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });

beforeEach(() => {
  service = started();
});

const { create, get, update } = identityCalls(() => ({ service }));

describe('limits of an identity', () => {
  const limit = { name: 'requests', limit: 3, duration: 60_000 };

  const twoKeys = async () => {
    const [a, b] = [
      await service.createKey({ externalId: 'user_1' }),
      await service.createKey({ externalId: 'user_1' }),
    ];
    return [a, b] as const;
  };

  test.each([[true], [false]])('apply to every verification of all its keys (async: %p)', async (async) => {
    await create({ ratelimits: [{ ...limit, async }] });
    const [a, b] = await twoKeys();
    const shared = { name: 'requests', limit: 3, async, shared: true };
    expect(await service.verify(a.key)).toMatchObject({ valid: true, ratelimits: [{ ...shared, remaining: 2 }] });
    const dear = { ratelimits: [{ name: 'requests', cost: 2 }] };
    expect(await service.verify(b.key, dear)).toMatchObject({ valid: true, ratelimits: [{ remaining: 0 }] });
    expect(await service.verify(a.key)).toMatchObject({
      code: 'RATE_LIMITED',
      ratelimits: [{ ...shared, remaining: 0, exceeded: true }],
    });
    service.clock.advance(60_000);
    expect((await service.verify(a.key)).valid).toBe(true);
  });

  test.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('apply beside a limit of the key of the same name (async: %p, %p)', async (own, shared) => {
    await create({ ratelimits: [{ ...limit, async: shared }] });
    const mine = { ...limit, limit: 2, async: own };
    const { key } = await service.createKey({ externalId: 'user_1', ratelimits: [mine] });
    const other = await service.createKey({ externalId: 'user_1' });
    const left = async (secret: string, fields = {}) => {
      const { code, ratelimits } = await service.verify(secret, fields);
      return [code, ...ratelimits.map((each: { remaining: number; shared?: true }) => [each.remaining, each.shared])];
    };
    expect(await left(key)).toEqual(['VALID', [1, undefined], [2, true]]);
    expect(await left(key, { ratelimits: [{ name: 'requests', cost: 1 }] })).toEqual([
      'VALID',
      [0, undefined],
      [1, true],
    ]);
    expect((await left(key))[0]).toBe('RATE_LIMITED');
    expect(await left(other.key)).toEqual(['VALID', [0, true]]);
    expect((await left(other.key))[0]).toBe('RATE_LIMITED');
  });

  test("a request raises the key's limit of a name, never the shared one beside it", async () => {
    await create({ ratelimits: [{ ...limit, limit: 2, async: false }] });
    const { key } = await service.createKey({
      externalId: 'user_1',
      ratelimits: [{ ...limit, limit: 1, async: true }],
    });
    const ask = async (fields: object) => {
      const { code, ratelimits } = await service.verify(key, { ratelimits: [{ name: 'requests', ...fields }] });
      return [code, ...ratelimits.map((each: { limit: number; remaining: number }) => [each.limit, each.remaining])];
    };
    expect(await ask({ limit: 50, cost: 0 })).toEqual(['VALID', [50, 50], [2, 2]]);
    expect(await ask({ limit: 50 })).toEqual(['VALID', [50, 49], [2, 1]]);
    expect(await ask({ limit: 50, duration: 60_000 })).toEqual(['VALID', [50, 48], [2, 0]]);
    for (const more of [{ limit: 50 }, { limit: 2, duration: 60_000 }, { limit: 50, duration: 120_000 }]) {
      expect((await ask(more))[0]).toBe('RATE_LIMITED');
    }
  });

  test('of two limits named default, the verdict shows the one with less left', async () => {
    await create({ ratelimits: [{ ...limit, name: 'default', limit: 2 }] });
    const { key } = await service.createKey({ externalId: 'user_1', ratelimit: { limit: 9, duration: 60_000 } });
    expect(await service.verify(key)).toMatchObject({ ratelimit: { limit: 2, remaining: 1 } });
    const other = await service.createKey({ externalId: 'user_1', ratelimit: { limit: 1, duration: 60_000 } });
    expect(await service.verify(other.key)).toMatchObject({ ratelimit: { limit: 1, remaining: 0 } });
  });

  test('one that a change makes apply by itself does so for the next verification of a cached key', async () => {
    const identityId = await create({ ratelimits: [{ ...limit, autoApply: false }] });
    const { key } = await service.createKey({ externalId: 'user_1' });
    expect((await service.verify(key)).ratelimits).toBeUndefined();
    await update(identityId, { ratelimits: [limit] });
    expect((await service.verify(key)).ratelimits).toBeUndefined();
    await update(identityId, { ratelimits: [{ ...limit, autoApply: true }] });
    expect((await service.verify(key)).ratelimits).toMatchObject([{ remaining: 2 }]);
  });

  test.each([[true], [false]])(
    'with autoApply false count when a verification names them (async: %p)',
    async (async) => {
      await create({ ratelimits: [{ ...limit, async, autoApply: false }] });
      const [a, b] = await twoKeys();
      const ask = (key: string) => service.verify(key, { ratelimits: [{ name: 'requests' }] });
      expect(await ask(a.key)).toMatchObject({ valid: true, ratelimits: [{ name: 'requests', remaining: 2, async }] });
      expect(await ask(b.key)).toMatchObject({ valid: true, ratelimits: [{ remaining: 1 }] });
      expect(await ask(a.key)).toMatchObject({ valid: true, ratelimits: [{ remaining: 0 }] });
      expect(await ask(b.key)).toMatchObject({ code: 'RATE_LIMITED', ratelimits: [{ remaining: 0, exceeded: true }] });
      expect(await service.verify(b.key)).toMatchObject({ valid: true });
      service.clock.advance(60_000);
      expect(await ask(b.key)).toMatchObject({ valid: true, ratelimits: [{ remaining: 2 }] });
    },
  );

  test("with autoApply false give way to a key's own limit of the same name", async () => {
    await create({ ratelimits: [{ ...limit, autoApply: false }] });
    const { key } = await service.createKey({ externalId: 'user_1', ratelimits: [{ ...limit, limit: 50 }] });
    const other = await service.createKey({ externalId: 'user_1' });
    const ask = (secret: string) => service.verify(secret, { ratelimits: [{ name: 'requests' }] });
    expect(await ask(key)).toMatchObject({ ratelimits: [{ limit: 50, remaining: 49 }] });
    expect(await ask(other.key)).toMatchObject({ ratelimits: [{ limit: 3, remaining: 2 }] });
  });

  test('numbers of the request count on the same counter when name, duration and mode are the same', async () => {
    await create({ ratelimits: [{ ...limit, async: false }] });
    const { key } = await service.createKey({ externalId: 'user_1' });
    const ask = (fields: object) => service.verify(key, { ratelimits: [{ name: 'requests', ...fields }] });
    expect(await ask({})).toMatchObject({ ratelimits: [{ limit: 3, remaining: 2 }] });
    expect(await ask({ limit: 10 })).toMatchObject({ ratelimits: [{ limit: 10, remaining: 8 }] });
    expect(await ask({ limit: 20, duration: 60_000 })).toMatchObject({ ratelimits: [{ limit: 20, remaining: 17 }] });
    expect(await ask({ duration: 120_000 })).toMatchObject({ ratelimits: [{ limit: 3, remaining: 2 }] });
    expect(
      (await service.call('/v1/keys.verifyKey', { key, ratelimits: [{ name: 'requests', async: true }] })).status,
    ).toBe(400);
  });

  test('credits and limits of key and identity are taken together or not at all', async () => {
    const identityId = await create({ remaining: 10, ratelimits: [{ ...limit, async: false }] });
    const { key, keyId } = await service.createKey({
      externalId: 'user_1',
      remaining: 1,
      ratelimit: { async: true, limit: 10, duration: 60_000 },
      ratelimits: [{ name: 'own', limit: 10, duration: 60_000, async: false }],
    });
    const ask = () => service.verify(key, { ratelimits: [{ name: 'requests' }] });
    expect((await ask()).valid).toBe(true);
    const refused = await ask();
    expect(refused).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
    expect(refused.ratelimits.map(({ remaining }: { remaining: number }) => remaining)).toEqual([9, 9, 2]);
    expect((await get(identityId)).remaining).toBe(9);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(0);
  });

  test('a change is seen by the very next verification of every cached key', async () => {
    const identityId = await create({ ratelimits: [limit] });
    const keys = await Promise.all(Array.from({ length: 3 }, () => service.createKey({ externalId: 'user_1' })));
    for (const { key } of keys) await service.verify(key, { ratelimits: [{ name: 'requests', cost: 0 }] });
    await update(identityId, { meta: { new: true }, ratelimits: [{ ...limit, limit: 7 }], remaining: 50 });
    for (const [i, { key }] of keys.entries()) {
      expect(await service.verify(key, { ratelimits: [{ name: 'requests', cost: 0 }] })).toMatchObject({
        identity: { meta: { new: true } },
        remaining: 49 - i,
        ratelimits: [{ limit: 7 }],
      });
    }
    await service.ok('/v1/identities.deleteIdentity', { identityId, keys: 'detach' });
    for (const { key } of keys) {
      const verdict = await service.verify(key);
      expect([verdict.valid, verdict.identity, verdict.ownerId, verdict.remaining]).toEqual([
        true,
        undefined,
        undefined,
        undefined,
      ]);
    }
  });

  test('a changed limit keeps its count, another duration or mode begins a new one', async () => {
    const identityId = await create({ ratelimits: [{ ...limit, async: false }] });
    const { key } = await service.createKey({ externalId: 'user_1' });
    const ask = async () => {
      const verdict = await service.verify(key, { ratelimits: [{ name: 'requests' }] });
      return verdict.ratelimits[0].remaining as number;
    };
    expect(await ask()).toBe(2);
    await update(identityId, { ratelimits: [{ ...limit, limit: 10 }] });
    expect(await ask()).toBe(8);
    await update(identityId, { ratelimits: [{ ...limit, duration: 120_000 }] });
    expect(await ask()).toBe(2);
    await update(identityId, { ratelimits: [{ ...limit, async: true }] });
    expect(await ask()).toBe(2);
  });
});
