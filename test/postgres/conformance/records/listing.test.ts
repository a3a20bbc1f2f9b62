import { expect, test } from 'bun:test';

import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { KeyQuery } from '../../../../src/storage/port/records.ts';
import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, identity, key, rootKey, write } from '../samples.ts';

/** Page after page until the cursor ends, as lists of ids. */
async function pagesOf(storage: Storage, query: KeyQuery): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | null = null;
  do {
    const page = await storage.records.listKeys({ ...query, after });
    pages.push(page.items.map((item) => ('key' in item ? item.key.id : item.poisoned)));
    after = page.cursor;
  } while (after !== null);
  return pages;
}

async function fill(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    { kind: 'insertIdentity', identity: identity('id_2', 'user-8') },
    ...['c', 'a', 'e', 'b', 'd'].map((id) => ({ kind: 'insertKey' as const, key: key(id) })),
    { kind: 'insertKey', key: key('f', { identityId: 'id_1' }) },
    { kind: 'insertKey', key: key('g', { identityId: 'id_2' }) },
    { kind: 'insertKey', key: key('h', { identityId: 'id_1', deletedAtMs: 1 }) },
    { kind: 'insertKey', key: key('i', { identityId: 'id_1', apiId: 'api_2' }) },
    { kind: 'insertKey', key: key('j', { identityId: 'id_1' }) },
  );
}

describePort('listing', (setup) => {
  test('pages follow each other by id with nothing twice and nothing left out, whatever their size', async () => {
    const { storage } = setup();
    await fill(storage);
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'j'];
    for (let limit = 1; limit <= 9; limit++) {
      const pages = await pagesOf(storage, { ...EVERY_KEY, limit });
      expect(pages.flat()).toEqual(all);
      expect(pages.length).toBe(Math.ceil(all.length / limit));
    }
  });

  test('the total counts all that fit the question, on every page', async () => {
    const { storage } = setup();
    await fill(storage);
    const totalOf = async (query: Partial<KeyQuery>) =>
      (await storage.records.listKeys({ ...EVERY_KEY, limit: 1, ...query })).total;
    expect(await totalOf({})).toBe(8);
    expect(await totalOf({ after: 'f' })).toBe(8);
    expect(await totalOf({ after: 'z' })).toBe(8);
    expect(await totalOf({ externalId: 'user-7' })).toBe(2);
    expect(await totalOf({ externalId: 'user-8', after: 'g' })).toBe(1);
    expect(await totalOf({ externalId: 'nobody' })).toBe(0);
    expect(await totalOf({ apiId: 'api_2' })).toBe(1);
    expect(await totalOf({ apiId: 'api_3' })).toBe(0);
  });

  test("an owner's page holds that owner's keys of this api and no other", async () => {
    const { storage } = setup();
    await fill(storage);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'user-7', limit: 1 })).toEqual([['f'], ['j']]);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'user-8' })).toEqual([['g']]);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'nobody' })).toEqual([[]]);
    expect(await pagesOf(storage, { ...EVERY_KEY, apiId: 'api_2', externalId: 'user-7' })).toEqual([['i']]);
  });

  test('a key made between two pages appears when its id lies ahead, and moves no other', async () => {
    const { storage } = setup();
    await fill(storage);
    const first = await storage.records.listKeys({ ...EVERY_KEY, limit: 3 });
    expect(first.cursor).toBe('c');
    await write(storage, { kind: 'insertKey', key: key('aa') }, { kind: 'insertKey', key: key('cc') });
    const second = await storage.records.listKeys({ ...EVERY_KEY, limit: 3, after: first.cursor });
    expect(second.items.map((item) => ('key' in item ? item.key.id : ''))).toEqual(['cc', 'd', 'e']);
    expect(second.total).toBe(10);
  });

  test('apis are listed by id, all of them or those that are named', async () => {
    const { storage } = setup();
    const ids = ['api_3', 'api_1', 'api_2'];
    await write(storage, ...ids.map((id) => ({ kind: 'insertApi' as const, api: api(id) })));
    const list = (limit: number, after: string | null, named: readonly string[] | null) =>
      storage.records.listApis({ limit, after, ids: named });
    expect(await list(10, null, null)).toEqual({
      items: [api('api_1'), api('api_2'), api('api_3')],
      total: 3,
      cursor: null,
    });
    expect(await list(2, null, null)).toMatchObject({ items: [{ id: 'api_1' }, { id: 'api_2' }], cursor: 'api_2' });
    expect(await list(2, 'api_2', null)).toMatchObject({ items: [{ id: 'api_3' }], total: 3, cursor: null });
    expect(await list(10, null, ['api_3', 'api_9'])).toMatchObject({ items: [{ id: 'api_3' }], total: 1 });
    expect(await list(10, null, [])).toEqual({ items: [], total: 0, cursor: null });
  });

  test('a root key is revoked once; its digest stays known as revoked', async () => {
    const { storage } = setup();
    const [one, two] = [rootKey('rk_1', { rights: ['api.*.read_api'], name: 'ci', expiresAtMs: 9 }), rootKey('rk_2')];
    await write(storage, { kind: 'insertRootKey', rootKey: two }, { kind: 'insertRootKey', rootKey: one });
    expect(await storage.records.listRootKeys()).toEqual([one, two]);
    expect(await storage.records.findRootKey('rk_1')).toEqual(one);
    expect(await storage.records.findRootKey('rk_3')).toBeNull();
    expect(await storage.records.findRootKeyByDigest('digest of rk_1', 0)).toEqual({
      rootKey: one,
      secretUntilMs: null,
    });
    const revoke = (rootKeyId: string, revokedAtMs: number) =>
      write(storage, { kind: 'revokeRootKey', rootKeyId, revokedAtMs });
    expect((await revoke('rk_1', 50)).status).toBe('done');
    expect((await revoke('rk_1', 60)).status).toBe('stale');
    expect((await revoke('rk_9', 60)).status).toBe('stale');
    expect(await storage.records.findRootKeyByDigest('digest of rk_1', 0)).toEqual({
      rootKey: { ...one, revokedAtMs: 50 },
      secretUntilMs: null,
    });
    expect(await storage.records.listRootKeys()).toEqual([{ ...one, revokedAtMs: 50 }, two]);
    const copy = rootKey('rk_3', { secretDigest: 'digest of rk_1' });
    expect((await write(storage, { kind: 'insertRootKey', rootKey: copy })).status).toBe('stale');
  });
});
