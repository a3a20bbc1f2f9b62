import { beforeEach, describe, expect, test } from 'bun:test';

import { recordFence } from '../../../src/core/fence.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { identityCalls } from './identityCalls.ts';

let service: TestService;

const HOUR_MS = 3_600_000;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });

beforeEach(() => {
  service = started();
});

const { create, get, update } = identityCalls(() => ({ service }));

describe('identities', () => {
  test('are made, read by either id, changed, listed and deleted', async () => {
    const ratelimits = [
      { name: 'requests', limit: 10, duration: 60_000, async: true, autoApply: true },
      { name: 'exports', limit: 2, duration: 86_400_000, async: false, autoApply: false },
    ];
    const identityId = await create({
      name: 'Acme Inc.',
      maxKeys: 5,
      meta: { plan: 'pro' },
      ratelimits: [{ name: 'requests', limit: 10, duration: 60_000 }, ratelimits[1]],
      remaining: 5,
      refill: { interval: 'monthly', amount: 5 },
    });
    expect(identityId).toStartWith('id_');
    const shown = {
      id: identityId,
      externalId: 'user_1',
      name: 'Acme Inc.',
      meta: { plan: 'pro' },
      enabled: true,
      maxKeys: 5,
      ratelimits,
      remaining: 5,
      refill: {
        interval: 'monthly',
        amount: 5,
        refillDay: null,
        timezone: 'UTC',
        mode: 'restore',
        nextRefillAt: Date.parse('2026-04-01T00:00:00Z'),
      },
    };
    const [minute, day] = ['2026-03-15T12:01:00Z', '2026-03-16T00:00:00Z'].map(Date.parse);
    const used = [
      { ...ratelimits[0], used: 0, reset: minute },
      { ...ratelimits[1], used: 0, reset: day },
    ];
    const details = { ...shown, keys: 0, ratelimits: used };
    expect(await get(identityId)).toEqual(details);
    expect(await service.ok('/v1/identities.getIdentity', { externalId: 'user_1' })).toEqual(details);
    expect(await service.ok('/v1/identities.listIdentities', {})).toEqual({ identities: [shown], total: 1 });
    const bare = { id: identityId, externalId: 'user_1', meta: {}, enabled: true, ratelimits: [] };
    const nothing = { name: null, maxKeys: null, meta: null, ratelimits: [], remaining: null };
    expect(await update(identityId, nothing)).toEqual(bare);
    expect(await service.ok('/v1/identities.deleteIdentity', { identityId })).toEqual({});
    for (const path of ['getIdentity', 'deleteIdentity', 'updateIdentity']) {
      expect((await service.call(`/v1/identities.${path}`, { identityId })).status).toBe(404);
    }
  });

  test('the same externalId twice is a conflict, whoever made the first', async () => {
    await create();
    await service.createKey({ externalId: 'made by a key' });
    for (const externalId of ['user_1', 'made by a key']) {
      const { status, body } = await service.call('/v1/identities.createIdentity', { externalId });
      expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
    }
    const race = await Promise.all(
      Array.from({ length: 5 }, () => service.call('/v1/identities.createIdentity', { externalId: 'race' })),
    );
    expect(race.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409]);
  });

  test('one of identityId and externalId is needed, never both', async () => {
    const identityId = await create();
    for (const body of [{}, { identityId, externalId: 'user_1' }]) {
      for (const path of ['getIdentity', 'updateIdentity', 'deleteIdentity']) {
        expect((await service.call(`/v1/identities.${path}`, body)).status).toBe(400);
      }
    }
  });

  test('a refill without a counter is refused, on creation and on update', async () => {
    const refill = { interval: 'daily', amount: 5 };
    expect((await service.call('/v1/identities.createIdentity', { externalId: 'abc', refill })).status).toBe(400);
    const identityId = await create();
    expect((await service.call('/v1/identities.updateIdentity', { identityId, refill })).status).toBe(400);
  });

  test('list in pages, in the order in which they were made', async () => {
    for (let i = 0; i < 5; i++) {
      service.clock.advance(1);
      await create({ externalId: `user_${i}` });
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await service.ok('/v1/identities.listIdentities', { limit: 2, ...(cursor ? { cursor } : {}) });
      expect(page.total).toBe(5);
      seen.push(...page.identities.map(({ externalId }: { externalId: string }) => externalId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(['user_0', 'user_1', 'user_2', 'user_3', 'user_4']);
  });

  test('concurrent updates of different fields are all kept, and an update that does not name the credits leaves them', async () => {
    const identityId = await create({ remaining: 100 });
    const { key } = await service.createKey({ externalId: 'user_1' });
    await Promise.all([
      update(identityId, { meta: { a: 1 } }),
      update(identityId, { ratelimits: [{ name: 'r', limit: 3, duration: 1000, async: false }] }),
      ...Array.from({ length: 20 }, () => service.verify(key)),
    ]);
    expect(await get(identityId)).toMatchObject({ meta: { a: 1 }, ratelimits: [{ name: 'r' }], remaining: 80 });
  });
});

describe('credits of an identity', () => {
  test('are shared by all its keys: 100 parallel verifications of five keys take exactly what there is', async () => {
    await create({ remaining: 40 });
    const keys = await Promise.all(Array.from({ length: 5 }, () => service.createKey({ externalId: 'user_1' })));
    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, i) => service.verify(keys[i % 5]?.key ?? '')));
    const left = verdicts.filter(({ valid }) => valid).map(({ remaining }) => remaining as number);
    expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect(verdicts.filter(({ valid }) => !valid).map(({ code }) => code)).toEqual(
      Array.from({ length: 60 }, () => 'USAGE_EXCEEDED'),
    );
  });

  test('a key with its own needs both; what is told is the smaller; a refusal by one takes nothing of the other', async () => {
    const identityId = await create({ remaining: 5 });
    const rich = await service.createKey({ externalId: 'user_1', remaining: 100 });
    const poor = await service.createKey({ externalId: 'user_1', remaining: 2 });
    expect(await service.verify(rich.key)).toMatchObject({ valid: true, remaining: 4 });
    expect(await service.verify(poor.key)).toMatchObject({ valid: true, remaining: 1 });
    expect(await service.verify(poor.key, { remaining: { cost: 2 } })).toMatchObject({ code: 'USAGE_EXCEEDED' });
    expect((await get(identityId)).remaining).toBe(3);
    expect(await service.verify(rich.key, { remaining: { cost: 4 } })).toMatchObject({
      code: 'USAGE_EXCEEDED',
      remaining: 3,
    });
    expect((await service.ok('/v1/keys.getKey', { keyId: rich.keyId })).remaining).toBe(99);
    expect(await service.verify(rich.key, { remaining: { cost: 3 } })).toMatchObject({ valid: true, remaining: 0 });
  });

  test('are refilled on time and once, for keys that are used and for those that are not', async () => {
    const identityId = await create({ remaining: 3, refill: { interval: 'daily', amount: 3 } });
    const { key } = await service.createKey({ externalId: 'user_1' });
    for (let i = 0; i < 3; i++) await service.verify(key);
    const midnight = service.clock.nowMs() + 12 * HOUR_MS;
    service.clock.set(midnight - 1);
    expect(await service.verify(key)).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
    service.clock.set(midnight);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 2 });
    service.clock.set(midnight + 77 * HOUR_MS);
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    expect(await service.engine.dueCredits.sweep()).toBe(0);
    expect(await get(identityId)).toMatchObject({
      remaining: 3,
      refill: { lastRefillAt: midnight + 72 * HOUR_MS },
    });
  });

  test('a retry under an idempotency key is charged once', async () => {
    const identityId = await create({ remaining: 5 });
    const { key } = await service.createKey({ externalId: 'user_1' });
    for (let i = 0; i < 3; i++) {
      expect(await service.verify(key, { idempotencyKey: 'retry-0001' })).toMatchObject({ valid: true, remaining: 4 });
    }
    expect((await get(identityId)).remaining).toBe(4);
  });

  test('are told with an earlier refusal, the smaller of both', async () => {
    await create({ remaining: 5 });
    const { key } = await service.createKey({ externalId: 'user_1', remaining: 9, enabled: false });
    expect(await service.verify(key)).toMatchObject({ code: 'DISABLED', remaining: 5 });
  });
});

describe('keys of an identity with credits', () => {
  test('100 of them are changed at the same time, each once and none in the way of another', async () => {
    await create({ remaining: 1000 });
    const keys = await Promise.all(Array.from({ length: 100 }, () => service.createKey({ externalId: 'user_1' })));
    const answers = await Promise.all(
      keys.map(({ keyId }, i) => service.call('/v1/keys.updateKey', { keyId, name: `key ${i}` })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('a change of one leaves the others in memory', async () => {
    await create({ remaining: 1000 });
    const [a, b] = [
      await service.createKey({ externalId: 'user_1' }),
      await service.createKey({ externalId: 'user_1' }),
    ];
    for (const { key } of [a, b]) await service.verify(key);
    const misses = service.engine.memory.keyCache.misses;
    await service.ok('/v1/keys.updateKey', { keyId: a.keyId, name: 'changed' });
    await service.verify(b.key);
    expect(service.engine.memory.keyCache.misses).toBe(misses);
  });

  test('a spend that was decided before the key was deleted is refused by the ledger', async () => {
    await create({ remaining: 10 });
    const { key, keyId } = await service.createKey({ externalId: 'user_1' });
    await service.verify(key);
    // As another node would do it, that has not heard of it yet.
    const found = await service.engine.storage.records.findKey(keyId);
    if (found === null || 'poisoned' in found || found.identity === null) throw new Error('no key');
    const { revision } = found.key;
    const { credits } = found.identity;
    await service.ok('/v1/keys.deleteKey', { keyId });
    const rule = { kind: 'credits', refill: null } as const;
    const outcome = await service.engine.storage.ledger.spend({
      charges: [{ account: credits?.account ?? 0, amount: 1, rule, revision: found.identity.revision }],
      fences: [recordFence('key', keyId, revision)],
      idempotency: null,
    });
    expect(outcome.status).toBe('stale');
  });

  test('deleting the identity closes its counters', async () => {
    const limit = { name: 'exports', limit: 2, duration: 60_000, async: false };
    const identityId = await create({ remaining: 10, ratelimits: [limit] });
    const { credits, limits } = (await service.storage.records.findIdentityById(identityId)) ?? expect.unreachable();
    const accounts = [credits?.account ?? 0, limits[0]?.account ?? 0];
    expect(await service.storage.ledger.read(accounts)).not.toContain(undefined);
    await service.ok('/v1/identities.deleteIdentity', { identityId });
    expect(await service.storage.ledger.read(accounts)).toEqual([undefined, undefined]);
  });

  test('one that gets credits of its own, loses them, leaves the identity and comes back is counted rightly all along', async () => {
    await create({ remaining: 10 });
    const { key, keyId } = await service.createKey({ externalId: 'user_1' });
    const change = (fields: object) => service.ok('/v1/keys.updateKey', { keyId, ...fields });
    const told: unknown[] = [(await service.verify(key)).remaining];
    await change({ remaining: 3 });
    told.push((await service.verify(key)).remaining);
    await change({ remaining: null });
    told.push((await service.verify(key)).remaining);
    await change({ externalId: null });
    told.push((await service.verify(key)).remaining);
    await change({ externalId: 'user_1' });
    told.push((await service.verify(key)).remaining);
    expect(told).toEqual([9, 2, 7, undefined, 6]);
  });
});
