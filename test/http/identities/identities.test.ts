import { beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { recordFence } from '../../../src/core/fence.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { StorageUnavailable } from '../../../src/storage/port/storage.ts';

let service: TestService;

const HOUR_MS = 3_600_000;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });

beforeEach(() => {
  service = started();
});

const create = async (fields: Record<string, unknown> = {}) =>
  (await service.ok('/v1/identities.createIdentity', { externalId: 'user_1', ...fields })).identityId as string;

const get = (identityId: string) => service.ok('/v1/identities.getIdentity', { identityId });

const update = (identityId: string, fields: Record<string, unknown>) =>
  service.ok('/v1/identities.updateIdentity', { identityId, ...fields });

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

const codeOf = async (key: string, fields = {}) => (await service.verify(key, fields)).code;

describe('enabled', () => {
  test.each([
    ['plain', {}],
    ['with a local limit', { ratelimit: { async: true, limit: 9, duration: 60_000 } }],
    ['with a strict limit', { ratelimit: { async: false, limit: 9, duration: 60_000 } }],
    ['with credits', { remaining: 9 }],
  ])(
    'false ends every key of the identity with the next verification, true gives it back: %s',
    async (_name, fields) => {
      const identityId = await create();
      const keys = [await service.createKey({ externalId: 'user_1', ...fields }), await service.createKey(fields)];
      const codes = () => Promise.all(keys.map(({ key }) => codeOf(key)));
      expect(await codes()).toEqual(['VALID', 'VALID']);
      await service.ok('/v1/identities.updateIdentity', { externalId: 'user_1', enabled: false });
      expect(await codes()).toEqual(['DISABLED', 'VALID']);
      expect(await get(identityId)).toMatchObject({ enabled: false });
      await update(identityId, { enabled: true });
      expect(await codes()).toEqual(['VALID', 'VALID']);
    },
  );

  test('false can be set from the start, and takes nothing', async () => {
    const identityId = await create({ enabled: false, remaining: 5 });
    const { key } = await service.createKey({ externalId: 'user_1', remaining: 5 });
    expect(await service.verify(key)).toMatchObject({ code: 'DISABLED', remaining: 5 });
    expect(await get(identityId)).toMatchObject({ remaining: 5, enabled: false });
  });
});

describe('deleteIdentity', () => {
  const erase = (body: object) => service.call('/v1/identities.deleteIdentity', { externalId: 'user_1', ...body });

  test('of one with keys is a 409 that says how many, and changes nothing', async () => {
    await create({ remaining: 5 });
    const { key } = await service.createKey({ externalId: 'user_1' });
    const { status, body } = await erase({});
    expect([status, body.error.message]).toEqual([
      409,
      'The customer "user_1" has 1 key. Say what becomes of it: set "keys" to "disable", "delete" or "detach".',
    ]);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4, ownerId: 'user_1' });
    await service.createKey({ externalId: 'user_1' });
    expect((await erase({})).body.error.message).toContain('has 2 keys.');
  });

  test('of one whose keys are all deleted needs no answer to that', async () => {
    await create();
    const { keyId } = await service.createKey({ externalId: 'user_1' });
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect((await erase({})).status).toBe(200);
  });

  test.each([
    ['disable', 'DISABLED'],
    ['delete', 'NOT_FOUND'],
    ['detach', 'VALID'],
  ])('with keys %s: each of 120 keys answers %s, without an owner', async (keys, code) => {
    await create({ remaining: 500, ratelimits: [{ name: 'all', limit: 500, duration: 60_000 }] });
    const made = await Promise.all(
      Array.from({ length: 120 }, (_, i) =>
        service.createKey({ externalId: 'user_1', ...(i === 0 ? { remaining: 7 } : {}) }),
      ),
    );
    for (const { key } of made.slice(0, 3)) expect(await codeOf(key)).toBe('VALID');
    expect((await erase({ keys })).status).toBe(200);
    const verdicts = await Promise.all(made.map(({ key }) => service.verify(key)));
    expect(new Set(verdicts.map((verdict) => verdict.code))).toEqual(new Set([code]));
    expect(new Set(verdicts.map(({ ownerId, ratelimits }) => ownerId ?? ratelimits))).toEqual(new Set([undefined]));
    expect((await service.call('/v1/identities.getIdentity', { externalId: 'user_1' })).status).toBe(404);
    if (keys !== 'delete') {
      expect((await service.ok('/v1/keys.getKey', { keyId: made[0]?.keyId })).remaining).toBe(
        keys === 'detach' ? 5 : 6,
      );
    }
  });

  test('with keys "delete": a key whose owner is gone cannot be restored, and says so', async () => {
    await create();
    const { keyId } = await service.createKey({ externalId: 'user_1' });
    await erase({ keys: 'delete' });
    const { status, body } = await service.call('/v1/keys.restoreKey', { keyId });
    expect([status, body.error.message]).toEqual([
      412,
      `The customer of the key ${keyId} was deleted. Create a new key.`,
    ]);
  });

  test('with keys "detach" of a disabled identity is a 412: banned keys do not become valid', async () => {
    await create({ enabled: false });
    const { key } = await service.createKey({ externalId: 'user_1' });
    const { status, body } = await erase({ keys: 'detach' });
    expect([status, body.error.message]).toEqual([
      412,
      'The customer "user_1" is disabled: detached from it, its keys would be valid again. Enable it first, or set "keys" to "disable" or "delete".',
    ]);
    expect(await codeOf(key)).toBe('DISABLED');
  });

  test.each(['disable', 'delete', 'detach'])(
    'with keys %s: a stored key that cannot be read is deleted',
    async (keys) => {
      await create();
      const { keyId } = await service.createKey({ externalId: 'user_1' });
      const { key } = await service.createKey({ externalId: 'user_1' });
      await service.stop();
      const db = new Database(join(service.folder, 'keystile.db'));
      db.run(`UPDATE keys SET limits = '{broken' WHERE id = '${keyId}'`);
      db.close();
      await service.open();
      expect((await erase({ keys })).status).toBe(200);
      expect((await service.call('/v1/keys.getKey', { keyId })).status).toBe(404);
      expect(await codeOf(key)).toBe({ disable: 'DISABLED', delete: 'NOT_FOUND', detach: 'VALID' }[keys] ?? '');
    },
  );

  test('goes on where a call was cut off', async () => {
    await create();
    const keys = await Promise.all(Array.from({ length: 120 }, () => service.createKey({ externalId: 'user_1' })));
    const { ledger } = service.engine.storage;
    const apply = ledger.apply.bind(ledger);
    let steps = 0;
    // The identity is disabled and 50 keys are deleted; then the database is gone.
    ledger.apply = (change) => (++steps > 2 ? Promise.reject(new StorageUnavailable('cut off')) : apply(change));
    expect((await erase({ keys: 'delete' })).status).toBe(503);
    expect(steps).toBe(3);
    ledger.apply = apply;
    const { keys: left, enabled } = await service.ok('/v1/identities.getIdentity', { externalId: 'user_1' });
    expect([left, enabled]).toEqual([70, false]);
    const codes = () => Promise.all(keys.map(({ key }) => codeOf(key)));
    expect(new Set(await codes())).toEqual(new Set(['NOT_FOUND', 'DISABLED']));
    expect((await erase({ keys: 'delete' })).status).toBe(200);
    expect(new Set(await codes())).toEqual(new Set(['NOT_FOUND']));
  });

  test('shows every step in the audit log', async () => {
    const identityId = await create();
    const { keyId } = await service.createKey({ externalId: 'user_1' });
    await erase({ keys: 'disable' });
    const { entries } = await service.ok('/v1/audit.listEntries', { limit: 3 });
    expect(entries.map((each: Record<string, unknown>) => [each.action, each.target])).toEqual([
      ['identity.delete', identityId],
      ['key.update', keyId],
      ['identity.update', identityId],
    ]);
    expect(entries[1]).toMatchObject({
      before: { ownerId: 'user_1', enabled: true },
      after: { ownerId: null, enabled: false },
    });
  });

  test.each(['disable', 'detach', 'delete'])(
    'with keys %s needs the rights to change and delete keys',
    async (keys) => {
      const identityId = await create();
      const { key } = await service.createKey({ externalId: 'user_1' });
      const one = `identity.${identityId}.delete_identity`;
      const rootKeyWith = async (permissions: readonly string[]) =>
        (await service.ok('/v1/rootKeys.createRootKey', { name: 'limited', permissions })).key as string;
      const as = async (permissions: readonly string[]) =>
        service.call(
          '/v1/identities.deleteIdentity',
          { identityId, keys },
          { rootKey: await rootKeyWith(permissions) },
        );
      const rights = ['api.*.update_key', 'api.*.delete_key'];
      for (const missing of rights) {
        const { status, body } = await as([one, ...rights.filter((right) => right !== missing)]);
        expect([status, body.error.message]).toEqual([403, `This root key lacks the right ${missing}.`]);
      }
      expect(await codeOf(key)).toBe('VALID');
      expect((await as([one, ...rights])).status).toBe(200);
    },
  );
});

describe('maxKeys', () => {
  let apiId = '';

  beforeEach(async () => {
    apiId = await service.createApi();
  });

  const newKey = () => service.call('/v1/keys.createKey', { apiId, externalId: 'user_1' });

  test('holds for 30 keys that are created at the same time', async () => {
    const identityId = await create({ maxKeys: 7 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => newKey()));
    expect(answers.filter(({ status }) => status === 200).length).toBe(7);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error.message))).toEqual(
      new Set([
        'The customer "user_1" already has 7 of 7 keys; 1 more would be too many. Delete unused keys, or raise maxKeys.',
      ]),
    );
    expect((await get(identityId)).keys).toBe(7);
  });

  test('counts keys that come by an update, a restoration or an import, and not deleted ones', async () => {
    const identityId = await create({ maxKeys: 1 });
    const { keyId: stranger } = await service.createKey({});
    const { keyId } = await service.createKey({ externalId: 'user_1' });
    const move = () => service.call('/v1/keys.updateKey', { keyId: stranger, externalId: 'user_1' });
    const bring = (plaintext: string) =>
      service.call('/v1/migrations.createKeys', [{ apiId, plaintext, externalId: 'user_1' }]);
    expect([(await move()).status, (await bring('imported_0001_of_user_1')).status]).toEqual([412, 412]);
    // A change of a key that belongs to the identity already takes no further space.
    await service.ok('/v1/keys.updateKey', { keyId, externalId: 'user_1', name: 'still there' });
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect([(await move()).status, (await service.call('/v1/keys.restoreKey', { keyId })).status]).toEqual([200, 412]);
    await update(identityId, { maxKeys: 3 });
    expect((await service.call('/v1/keys.restoreKey', { keyId })).status).toBe(200);
    expect((await bring('imported_0002_of_user_1')).status).toBe(200);
    expect((await newKey()).status).toBe(412);
    await update(identityId, { maxKeys: null });
    expect((await newKey()).status).toBe(200);
  });

  test('below the present number keeps the keys, and refuses further ones', async () => {
    const identityId = await create();
    const { key } = await service.createKey({ externalId: 'user_1' });
    await update(identityId, { maxKeys: 0 });
    expect([await codeOf(key), (await newKey()).status, (await get(identityId)).keys]).toEqual(['VALID', 412, 1]);
  });
});

describe('getIdentity', () => {
  test('shows how many keys it has, and what was used of each limit in the running window', async () => {
    const limits = [
      { name: 'local', limit: 10, duration: 60_000, async: true },
      { name: 'strict', limit: 10, duration: 60_000, async: false },
    ];
    const identityId = await create({ ratelimits: limits });
    const other = await service.createApi('another api');
    const keys = [
      await service.createKey({ externalId: 'user_1' }),
      await service.createKey({ externalId: 'user_1', apiId: other }),
    ];
    for (const { key } of keys) await service.verify(key, { ratelimits: [{ name: 'strict', cost: 3 }] });
    await service.engine.memory.localLimits.sync();
    const used = async () =>
      (await get(identityId)).ratelimits.map((each: { used: number; reset: number }) => [each.used, each.reset]);
    const reset = Date.parse('2026-03-15T12:01:00Z');
    const day = Math.floor((service.clock.nowMs() - Date.parse('2026-03-15T12:00:00Z')) / 86_400_000) * 86_400_000;
    expect(await used()).toEqual([
      [2, reset + day],
      [6, reset + day],
    ]);
    expect((await get(identityId)).keys).toBe(2);
    service.clock.advance(60_000);
    expect(await used()).toEqual([
      [0, reset + day + 60_000],
      [0, reset + day + 60_000],
    ]);
  });
});

describe('listIdentities', () => {
  test('finds by the beginning of the externalId, and by words of externalId, name and metadata', async () => {
    await create({ externalId: 'org_acme-7', name: 'Acme Incorporated', meta: { city: 'Bern' } });
    service.clock.advance(1);
    await create({ externalId: 'org_blue', name: 'Blue Sky', meta: { city: 'Berlin' } });
    const found = async (search: string) => {
      const { identities, total } = await service.ok('/v1/identities.listIdentities', { search });
      const ids = identities.map(({ externalId }: { externalId: string }) => externalId);
      expect(total).toBe(ids.length);
      return ids;
    };
    expect(await found('org_')).toEqual(['org_acme-7', 'org_blue']);
    expect(await found('org_a')).toEqual(['org_acme-7']);
    expect(await found('ACME')).toEqual(['org_acme-7']);
    expect(await found('ber')).toEqual(['org_acme-7', 'org_blue']);
    expect(await found('ber sky')).toEqual(['org_blue']);
    expect(await found('nobody')).toEqual([]);
    await service.ok('/v1/identities.updateIdentity', { externalId: 'org_blue', name: 'Green', meta: null });
    expect([await found('sky'), await found('berlin'), await found('green')]).toEqual([[], [], ['org_blue']]);
    await service.ok('/v1/identities.deleteIdentity', { externalId: 'org_blue' });
    expect(await found('green')).toEqual([]);
  });
});

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
