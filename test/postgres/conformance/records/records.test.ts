import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, found, identity, key, removal, write } from '../samples.ts';

describePort('records', (setup) => {
  test('a key is found by id and by digest exactly as it was written, with its identity', async () => {
    const { storage } = setup();
    const owner = identity('id_1', 'user-7', { meta: '{"plan":"pro"}' });
    const written = key('key_1', {
      identityId: 'id_1',
      name: 'köy ✓',
      meta: '{"a":[1,{"b":null}]}',
      environment: 'live',
      enabled: false,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
      credits: {
        account: 5,
        refill: {
          interval: 'monthly',
          refillDay: 31,
          refillWeekday: null,
          timezone: 'Europe/Berlin',
          amount: 7,
          mode: 'add',
          max: Number.MAX_SAFE_INTEGER,
          sinceMs: 9,
        },
      },
      limits: [
        { name: 'default', limit: 3, durationMs: 1000, async: true, account: null },
        { name: 'strict', limit: 4, durationMs: 2000, async: false, account: 6 },
      ],
      ipAllowlist: ['10.0.0.0/8', '::1'],
      updatedAtMs: 8,
      revision: 12,
    });
    await write(storage, { kind: 'insertIdentity', identity: owner }, { kind: 'insertKey', key: written });
    const expected = found(written, { identity: owner });
    expect(await storage.records.findKey('key_1')).toEqual(expected);
    expect(await storage.records.findKeysByDigest(['digest of key_1'])).toEqual([expected]);
    expect(await storage.records.listKeys(EVERY_KEY)).toEqual({
      items: [expected],
      total: 1,
      cursor: null,
    });
  });

  test('answers to several digests stand in the order of the questions, null where there is none', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') }, { kind: 'insertKey', key: key('key_2') });
    const [one, two] = [found(key('key_1')), found(key('key_2'))];
    const asked = ['digest of key_2', 'nothing', 'digest of key_1', 'digest of key_2'];
    expect(await storage.records.findKeysByDigest(asked)).toEqual([two, null, one, two]);
    expect(await storage.records.findKeysByDigest([])).toEqual([]);
  });

  test('what was never written is not found', async () => {
    const { records } = setup().storage;
    expect(await records.findKey('key_none')).toBeNull();
    expect(await records.findApi('api_none')).toBeNull();
    expect(await records.findIdentity('nobody')).toBeNull();
    expect(await records.findRootKeyByDigest('none', 0)).toBeNull();
  });

  test('an api and an identity are found as they were written', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    );
    expect(await storage.records.findApi('api_1')).toEqual(api('api_1'));
    expect(await storage.records.findIdentity('user-7')).toEqual(identity('id_1', 'user-7'));
  });

  test('of many apis and identities those are found that exist', async () => {
    const { storage } = setup();
    const numbers = Array.from({ length: 1_200 }, (_, i) => i);
    const apis = numbers.slice(0, 600).map((i) => api(`api_${i}`));
    const identities = numbers.slice(0, 600).map((i) => identity(`id_${i}`, `user-${i}`));
    await write(
      storage,
      { kind: 'insertApi', api: api('api_gone', { deletedAtMs: 5 }) },
      ...apis.map((each) => ({ kind: 'insertApi', api: each }) as const),
      ...identities.map((each) => ({ kind: 'insertIdentity', identity: each }) as const),
    );
    const { records } = storage;
    expect(new Set(await records.findApis(['api_gone', ...numbers.map((i) => `api_${i}`)]))).toEqual(new Set(apis));
    expect(new Set(await records.findIdentities(numbers.map((i) => `user-${i}`)))).toEqual(new Set(identities));
    expect([await records.findApis([]), await records.findIdentities([])]).toEqual([[], []]);
  });

  test('a softly deleted key is found in no way, and its digest stays taken', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const deleted = key('key_1', { deletedAtMs: 5, revision: 2 });
    expect(await write(storage, { kind: 'updateKey', key: deleted, expect: 1 })).toMatchObject({ status: 'done' });
    expect(await storage.records.findKey('key_1')).toBeNull();
    expect(await storage.records.findKeysByDigest(['digest of key_1'])).toEqual([null]);
    const page = await storage.records.listKeys(EVERY_KEY);
    expect(page).toEqual({ items: [], total: 0, cursor: null });
    const again = key('key_2', { secretDigest: 'digest of key_1' });
    expect(await write(storage, { kind: 'insertKey', key: again })).toMatchObject({ status: 'stale' });
  });

  test('a removed key leaves its id and its digest free', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    await write(storage, removal('key_1', 1));
    expect(await storage.records.findKey('key_1')).toBeNull();
    expect(await write(storage, { kind: 'insertKey', key: key('key_1') })).toMatchObject({ status: 'done' });
  });

  test('an update or removal made from another revision is stale and changes nothing', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1', { revision: 3 }) });
    const renamed = key('key_1', { name: 'new', revision: 4 });
    const stale = { status: 'stale', nowMs: setup().clock.nowMs() };
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 2 })).toEqual(stale as never);
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 4 })).toEqual(stale as never);
    expect(await write(storage, removal('key_1', 2))).toEqual(stale as never);
    expect(await write(storage, removal('key_2', 1))).toEqual(stale as never);
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: null, revision: 3 } });
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 3 })).toMatchObject({ status: 'done' });
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: 'new', revision: 4 } });
  });

  test('ids, digests and external ids are unique: the second of a name is stale', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
      { kind: 'insertKey', key: key('key_1') },
    );
    for (const second of [
      { kind: 'insertApi', api: api('api_1', { name: 'other' }) },
      { kind: 'insertIdentity', identity: identity('id_2', 'user-7') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-8') },
      { kind: 'insertKey', key: key('key_1', { secretDigest: 'another' }) },
      { kind: 'insertKey', key: key('key_2', { secretDigest: 'digest of key_1' }) },
    ] as const) {
      expect([second, (await write(storage, second)).status]).toEqual([second, 'stale'] as never);
    }
    expect(await storage.records.findApi('api_1')).toEqual(api('api_1'));
    expect(await storage.records.findIdentity('user-8')).toBeNull();
  });

  test('a stored key that cannot be read fails alone and names itself; the others are answered', async () => {
    const { storage } = setup();
    for (const [id, fields] of [
      ['key_1', { meta: '["no object"]' }],
      ['key_2', {}],
      ['key_3', { meta: '{broken' }],
      ['key_4', { limits: [{ name: 'x', limit: -1, durationMs: 0, async: true, account: null }] }],
    ] as const) {
      await write(storage, { kind: 'insertKey', key: key(id, fields) });
    }
    const asked = ['key_1', 'key_2', 'key_3', 'key_4'];
    const byDigest = await storage.records.findKeysByDigest(asked.map((id) => `digest of ${id}`));
    const listed = await storage.records.listKeys(EVERY_KEY);
    for (const answers of [byDigest, listed.items]) {
      expect(answers.map((each) => (each !== null && 'poisoned' in each ? each.poisoned : null))).toEqual([
        'key_1',
        null,
        'key_3',
        'key_4',
      ]);
    }
  });

  test('a read sees every change that was answered before it was asked', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    for (let revision = 2; revision < 30; revision++) {
      await write(storage, { kind: 'updateKey', key: key('key_1', { revision }), expect: revision - 1 });
      expect(await storage.records.findKey('key_1')).toMatchObject({ key: { revision } });
      expect((await storage.records.listKeys(EVERY_KEY)).items).toMatchObject([{ key: { revision } }]);
    }
  });
});
