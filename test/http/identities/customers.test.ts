import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { identityCalls } from './identityCalls.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });

beforeEach(() => {
  service = started();
});

const { create, get, update } = identityCalls(() => ({ service }));

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
