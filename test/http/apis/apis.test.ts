import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

let service: TestService;
let apiId = '';

beforeEach(async () => {
  service = await TestService.start();
  apiId = await service.createApi('defaults');
});

afterEach(async () => {
  await service.close();
});

const update = (fields: Record<string, unknown>) => service.ok('/v1/apis.updateApi', { apiId, ...fields });

describe('apis.updateApi', () => {
  test('is shown by getApi and listApis; null clears, what is absent stays', async () => {
    const plain = { id: apiId, workspaceId: service.storage.workspaceId, name: 'defaults', deleteProtection: false };
    expect(await service.ok('/v1/apis.getApi', { apiId })).toEqual(plain);
    const defaults = {
      defaultPrefix: 'pay',
      defaultByteLength: 32,
      defaultRatelimit: { limit: 5, duration: 60_000, async: true },
    };
    expect(await update({ ...defaults, defaultRatelimit: { limit: 5, duration: 60_000 } })).toEqual({});
    await update({ name: 'renamed', deleteProtection: true });
    const shown = { ...plain, ...defaults, name: 'renamed', deleteProtection: true };
    expect(await service.ok('/v1/apis.getApi', { apiId })).toEqual(shown);
    expect((await service.ok('/v1/apis.listApis', {})).apis).toEqual([shown]);
    await update({ defaultPrefix: null, defaultByteLength: null, defaultRatelimit: null });
    expect(await service.ok('/v1/apis.getApi', { apiId })).toEqual({
      ...plain,
      name: 'renamed',
      deleteProtection: true,
    });
  });

  test.each(['root', 'session', 'portal', 'Root', 'root_live', 'SESSION_a'])(
    'the prefix %s is not for keys: it is that of another kind of secret',
    async (prefix) => {
      const told = (field: string): [number, string] => [
        400,
        `${field} must not be one that Keystile's own secrets begin with (root, session, portal), got "${prefix}"`,
      ];
      const refused = async (path: string, body: object) => {
        const answer = await service.call(path, body);
        return [answer.status, answer.body.error.message];
      };
      expect(await refused('/v1/apis.updateApi', { apiId, defaultPrefix: prefix })).toEqual(told('defaultPrefix'));
      expect(await refused('/v1/keys.createKey', { apiId, prefix })).toEqual(told('prefix'));
      expect(await refused('/v1/keys.createKeys', { apiId, keys: [{}, { prefix }] })).toEqual([
        400,
        `keys[1]: ${told('prefix')[1]}`,
      ]);
    },
  );

  test('a prefix that only begins like one is accepted, and what an api or a key has of before goes on', async () => {
    for (const prefix of ['rooted', 'sessions', 'my_root', 'root-1']) {
      expect((await service.createKey({ apiId, prefix })).key).toStartWith(`${prefix}_`);
    }
    // As an earlier version has written it.
    const before = await service.storage.records.findApi(apiId);
    if (before === null) throw new Error('there is no api');
    const api = { ...before, defaultPrefix: 'root', revision: before.revision + 1 };
    const change = { kind: 'updateApi', api, expect: before.revision, endsKeys: false } as const;
    expect((await service.storage.ledger.apply({ writes: [change], accounts: [] })).status).toBe('done');
    const { key, keyId } = await service.createKey({ apiId });
    expect([key.startsWith('root_'), (await service.verify(key)).valid]).toEqual([true, true]);
    const rotated = await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 0 });
    expect((await service.verify(rotated.key as string)).valid).toBe(true);
  });

  test('new keys get what they do not say themselves; keys that exist stay as they are', async () => {
    const before = await service.createKey({ apiId });
    await update({
      defaultPrefix: 'pay',
      defaultByteLength: 64,
      defaultRatelimit: { limit: 5, duration: 60_000, async: false },
    });
    const after = await service.createKey({ apiId });
    const own = await service.createKey({
      apiId,
      prefix: 'own',
      byteLength: 16,
      ratelimit: { limit: 9, duration: 1_000 },
    });
    expect(after.key).toMatch(/^pay_.{90,}$/);
    expect(own.key).toMatch(/^own_.{20,40}$/);
    const shown = await Promise.all([before, after, own].map(({ keyId }) => service.ok('/v1/keys.getKey', { keyId })));
    expect(shown.map(({ ratelimit }) => ratelimit)).toMatchObject([
      undefined,
      { async: false, limit: 5, duration: 60_000, refillRate: 5, refillInterval: 60_000 },
      { async: true, limit: 9, duration: 1_000, refillRate: 9, refillInterval: 1_000 },
    ]);
    expect(await service.verify(before.key)).toMatchObject({ valid: true });
    for (let i = 0; i < 5; i++) expect(await service.verify(after.key)).toMatchObject({ valid: true });
    expect(await service.verify(after.key)).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('two updates of different fields at the same time are both kept', async () => {
    await Promise.all([
      update({ name: 'one of two' }),
      update({ defaultPrefix: 'two' }),
      update({ defaultByteLength: 20 }),
      update({ deleteProtection: true }),
    ]);
    expect(await service.ok('/v1/apis.getApi', { apiId })).toMatchObject({
      name: 'one of two',
      defaultPrefix: 'two',
      defaultByteLength: 20,
      deleteProtection: true,
    });
  });

  test('a renamed api does not make its keys be looked up again', async () => {
    const { key } = await service.createKey({ apiId });
    await service.verify(key);
    const misses = service.engine.memory.keyCache.misses;
    await update({ name: 'renamed' });
    await service.verify(key);
    expect(service.engine.memory.keyCache.misses).toBe(misses);
  });
});
