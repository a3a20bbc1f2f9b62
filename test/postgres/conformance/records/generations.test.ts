import { expect, test } from 'bun:test';

import type { ApiRecord } from '../../../../src/model/apis.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { KeyWithIdentity, PoisonedKey } from '../../../../src/storage/port/records.ts';
import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, found, identity, key, write } from '../samples.ts';

const idsOf = (keys: readonly (KeyWithIdentity | PoisonedKey | null)[]): (string | null)[] =>
  keys.map((each) => (each === null ? null : 'key' in each ? each.key.id : each.poisoned));

/** api_1 with the keys a and b, and api_2 with c; all of the first generation. */
async function fill(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertApi', api: api('api_1') },
    { kind: 'insertApi', api: api('api_2') },
    { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    { kind: 'insertKey', key: key('a'), words: ['word'] },
    { kind: 'insertKey', key: key('b', { identityId: 'id_1' }) },
    { kind: 'insertKey', key: key('c', { apiId: 'api_2' }) },
  );
}

/** Begins another generation of an api. */
async function endKeys(storage: Storage, before: ApiRecord, fields: Partial<ApiRecord> = {}): Promise<ApiRecord> {
  const after = { ...before, generation: before.generation + 1, revision: before.revision + 1, ...fields };
  const update = { kind: 'updateApi', api: after, expect: before.revision, endsKeys: true } as const;
  expect((await write(storage, update)).status).toBe('done');
  return after;
}

async function idsFoundIn(storage: Storage): Promise<unknown> {
  const { records } = storage;
  const digests = ['a', 'b', 'c'].map((id) => `digest of ${id}`);
  return {
    byDigest: idsOf(await records.findKeysByDigest(digests)),
    byId: idsOf(await Promise.all(['a', 'b', 'c'].map((id) => records.findKey(id)))),
    listed: idsOf((await records.listKeys(EVERY_KEY)).items),
    total: (await records.listKeys(EVERY_KEY)).total,
    ofOwner: idsOf((await records.listKeys({ ...EVERY_KEY, externalId: 'user-7' })).items),
    searched: idsOf((await records.listKeys({ ...EVERY_KEY, search: 'word' })).items),
    byStart: idsOf((await records.listKeys({ ...EVERY_KEY, search: 'sk_1234' })).items),
    counted: await records.countKeys(100),
  };
}

const ALL = {
  byDigest: ['a', 'b', 'c'],
  byId: ['a', 'b', 'c'],
  listed: ['a', 'b'],
  total: 2,
  ofOwner: ['b'],
  searched: ['a'],
  byStart: ['a', 'b'],
  counted: 3,
};
const WITHOUT_API_1 = {
  byDigest: [null, null, 'c'],
  byId: [null, null, 'c'],
  listed: [],
  total: 0,
  ofOwner: [],
  searched: [],
  byStart: [],
  counted: 1,
};

describePort('generations of the keys of an api', (setup) => {
  test('when an api begins another generation, no key of the one before is found in any way', async () => {
    await fill(setup().storage);
    expect(await idsFoundIn(setup().storage)).toEqual(ALL);
    await endKeys(setup().storage, api('api_1'));
    expect(await idsFoundIn(setup().storage)).toEqual(WITHOUT_API_1);
    await setup().reopen();
    expect(await idsFoundIn(setup().storage)).toEqual(WITHOUT_API_1);
  });

  test('keys of the new generation are found and listed, those before them are not', async () => {
    const { storage } = setup();
    await fill(storage);
    await endKeys(storage, api('api_1'));
    await write(storage, { kind: 'insertKey', key: key('d', { generation: 1 }), words: ['word'] });
    expect(await storage.records.findKeysByDigest(['digest of a', 'digest of d'])).toMatchObject([
      null,
      { key: { id: 'd', generation: 1 } },
    ]);
    for (const search of [null, 'word', 'sk_1']) {
      const page = await storage.records.listKeys({ ...EVERY_KEY, search });
      expect([search, idsOf(page.items), page.total]).toEqual([search, ['d'], 1]);
    }
    expect(await storage.records.countKeys(100)).toBe(2);
  });

  test('a former secret of a key that was left behind is not found either', async () => {
    const { storage } = setup();
    await fill(storage);
    await write(storage, { kind: 'insertSecret', secret: { digest: 'former', owner: 'a', untilMs: 99 } });
    expect(idsOf(await storage.records.findKeysByDigest(['former']))).toEqual(['a']);
    await endKeys(storage, api('api_1'));
    expect(await storage.records.findKeysByDigest(['former'])).toEqual([null]);
  });

  test('what is left behind is listed until it is written down, key by key, with a bound', async () => {
    const { storage } = setup();
    const { records } = storage;
    await fill(storage);
    await write(storage, { kind: 'insertKey', key: key('e', { deletedAtMs: 5 }) });
    expect(await records.listKeysLeftBehind('api_1', 10)).toEqual([]);
    expect(await records.listApisWithKeysLeftBehind()).toEqual([]);
    await endKeys(storage, api('api_1'), { purgesBelow: 1 });
    expect(await records.listKeysLeftBehind('api_1', 10)).toEqual([
      found(key('a')),
      found(key('b', { identityId: 'id_1' }), { identity: identity('id_1', 'user-7') }),
    ]);
    expect(idsOf(await records.listKeysLeftBehind('api_1', 1))).toEqual(['a']);
    expect(await records.listKeysLeftBehind('api_2', 10)).toEqual([]);
    expect(await records.listApisWithKeysLeftBehind()).toEqual([{ id: 'api_1', purgesBelow: 1 }]);
    await write(storage, { kind: 'updateKey', key: key('a', { deletedAtMs: 5, revision: 2 }), expect: 1 });
    expect(idsOf(await records.listKeysLeftBehind('api_1', 10))).toEqual(['b']);
    const digests = ['digest of b'];
    await write(storage, { kind: 'removeKey', key: { id: 'b', apiId: 'api_1' }, expect: 1, digests });
    expect(await records.listKeysLeftBehind('api_1', 10)).toEqual([]);
    expect(await records.listApisWithKeysLeftBehind()).toEqual([]);
  });

  test('the oldest generation is listed first', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1', { generation: 1 }) });
    await write(
      storage,
      { kind: 'insertKey', key: key('a', { generation: 1 }) },
      { kind: 'insertKey', key: key('b', { generation: 0 }) },
    );
    await endKeys(storage, api('api_1', { generation: 1 }));
    expect(idsOf(await storage.records.listKeysLeftBehind('api_1', 10))).toEqual(['b', 'a']);
  });

  test('a stored key that cannot be read is listed as left behind by its name', async () => {
    const { storage } = setup();
    await fill(storage);
    await write(storage, { kind: 'updateKey', key: key('a', { meta: '[]', revision: 2 }), expect: 1 });
    await endKeys(storage, api('api_1'));
    const [poisoned] = await storage.records.listKeysLeftBehind('api_1', 1);
    expect(poisoned).toMatchObject({ poisoned: 'a', apiId: 'api_1', secretDigest: 'digest of a', revision: 2 });
  });
});

describePort('deleted keys and apis', (setup) => {
  test('a deleted key, and one that was left behind, are found where any key is asked for', async () => {
    const { storage } = setup();
    await fill(storage);
    const deleted = key('a', { deletedAtMs: 5, revision: 2 });
    await write(storage, { kind: 'updateKey', key: deleted, expect: 1 });
    expect(await storage.records.findKey('a')).toBeNull();
    expect(await storage.records.findAnyKey('a')).toEqual(found(deleted));
    expect(idsOf([await storage.records.findAnyKey('b'), await storage.records.findAnyKey('c')])).toEqual(['b', 'c']);
    await endKeys(storage, api('api_1'));
    expect(idsOf([await storage.records.findAnyKey('a'), await storage.records.findAnyKey('b')])).toEqual(['a', 'b']);
    expect(await storage.records.findAnyKey('none')).toBeNull();
  });

  test('a deleted api is found in no way, and its keys not even where any key is asked for', async () => {
    await fill(setup().storage);
    const deleted = await endKeys(setup().storage, api('api_1'), { deletedAtMs: 9 });
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.findApi('api_1')).toBeNull();
    expect(await records.listApis({ limit: 10, after: null, ids: null })).toEqual({
      items: [api('api_2')],
      total: 1,
      cursor: null,
    });
    expect(await records.listApis({ limit: 10, after: null, ids: ['api_1'] })).toMatchObject({ items: [], total: 0 });
    expect(await idsFoundIn(setup().storage)).toEqual(WITHOUT_API_1);
    expect([await records.findAnyKey('a'), await records.findAnyKey('b')]).toEqual([null, null]);
    expect(idsOf(await records.listKeysLeftBehind('api_1', 10))).toEqual(['a', 'b']);
    expect(await records.listApisWithKeysLeftBehind()).toEqual([{ id: 'api_1', purgesBelow: deleted.purgesBelow }]);
  });

  test('counts go no further than they are asked to', async () => {
    const { storage } = setup();
    await fill(storage);
    for (const [upTo, keys, apis] of [
      [0, 0, 0],
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 2],
      [100, 3, 2],
    ] as const) {
      expect([upTo, await storage.records.countKeys(upTo), await storage.records.countApis(upTo)]).toEqual([
        upTo,
        keys,
        apis,
      ]);
    }
    await write(storage, { kind: 'updateKey', key: key('a', { deletedAtMs: 5, revision: 2 }), expect: 1 });
    expect(await storage.records.countKeys(100)).toBe(2);
  });

  test('an api is found exactly as it was last written; an update from another revision is stale', async () => {
    const { storage } = setup();
    const full = api('api_1', {
      name: 'köy ✓',
      defaultPrefix: 'sk_live',
      defaultByteLength: 32,
      defaultLimit: { limit: 5, durationMs: 60_000, async: false },
      isDeleteProtected: true,
      generation: 3,
      purgesBelow: 2,
      updatedAtMs: Number.MAX_SAFE_INTEGER,
      revision: 7,
    });
    await write(storage, { kind: 'insertApi', api: full });
    expect(await storage.records.findApi('api_1')).toEqual(full);
    const changed = { ...api('api_1'), name: 'plain', revision: 8 };
    const update = (expect_: number) =>
      write(storage, { kind: 'updateApi', api: changed, expect: expect_, endsKeys: false });
    for (const wrong of [6, 8]) expect((await update(wrong)).status).toBe('stale');
    expect(await storage.records.findApi('api_1')).toEqual(full);
    expect((await update(7)).status).toBe('done');
    expect(await storage.records.findApi('api_1')).toEqual(changed);
  });
});
