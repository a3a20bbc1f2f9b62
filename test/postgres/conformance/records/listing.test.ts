import { expect, test } from 'bun:test';

import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { KeyQuery, FilteredKeyQuery } from '../../../../src/storage/port/records.ts';
import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, identity, key, rootKey, write, plan } from '../samples.ts';
import type { KeyRecord } from '../../../../src/model/keys.ts';
import { searchWords } from '../../../../src/core/search.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';

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

async function fillPages(storage: Storage): Promise<void> {
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
    await fillPages(storage);
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'j'];
    for (let limit = 1; limit <= 9; limit++) {
      const pages = await pagesOf(storage, { ...EVERY_KEY, limit });
      expect(pages.flat()).toEqual(all);
      expect(pages.length).toBe(Math.ceil(all.length / limit));
    }
  });

  test('the total counts all that fit the question, on every page', async () => {
    const { storage } = setup();
    await fillPages(storage);
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
    await fillPages(storage);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'user-7', limit: 1 })).toEqual([['f'], ['j']]);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'user-8' })).toEqual([['g']]);
    expect(await pagesOf(storage, { ...EVERY_KEY, externalId: 'nobody' })).toEqual([[]]);
    expect(await pagesOf(storage, { ...EVERY_KEY, apiId: 'api_2', externalId: 'user-7' })).toEqual([['i']]);
  });

  test('a key made between two pages appears when its id lies ahead, and moves no other', async () => {
    const { storage } = setup();
    await fillPages(storage);
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

const NOW_MS = 50_000;

const EVERY_STATE: FilteredKeyQuery = { ...EVERY_KEY, state: null, planId: null, nowMs: NOW_MS };

/** More identities on a plan are not looked up one by one. */
const MANY_HOLDERS = 1_001;
/** With a hundred words each, a search finds more than 20,000 entries. */
const MANY_KEYS = 225;

async function fillStates(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertPlan', plan: plan('plan_1', 'pro') },
    { kind: 'insertPlan', plan: plan('plan_2', 'free') },
    { kind: 'insertIdentity', identity: identity('id_1', 'user-7', { planId: 'plan_1' }) },
    { kind: 'insertIdentity', identity: identity('id_2', 'user-8', { planId: 'plan_2' }) },
    { kind: 'insertKey', key: key('a') },
    { kind: 'insertKey', key: key('b', { enabled: false }) },
    { kind: 'insertKey', key: key('c', { expiresAtMs: NOW_MS }) },
    { kind: 'insertKey', key: key('d', { expiresAtMs: NOW_MS + 1 }) },
    { kind: 'insertKey', key: key('e', { enabled: false, expiresAtMs: 1 }) },
    { kind: 'insertKey', key: key('f', { identityId: 'id_1' }) },
    { kind: 'insertKey', key: key('g', { identityId: 'id_2', enabled: false }) },
    { kind: 'insertKey', key: key('h', { planId: 'plan_1' }) },
    { kind: 'insertKey', key: key('i', { identityId: 'id_1', enabled: false, name: 'Ann' }), words: ['ann'] },
    { kind: 'insertKey', key: key('j', { identityId: 'id_1', deletedAtMs: 1 }) },
    { kind: 'insertKey', key: key('k', { identityId: 'id_1', apiId: 'api_2' }) },
    { kind: 'insertKey', key: key('l', { identityId: 'id_1', expiresAtMs: 2 }) },
  );
}

/** The ids of all pages, one key on each. */
async function idsOf(storage: Storage, query: Partial<FilteredKeyQuery>): Promise<string> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page = await storage.records.listFilteredKeys({ ...EVERY_STATE, limit: 1, ...query, after });
    ids.push(...page.items.map((item) => ('key' in item ? item.key.id : item.poisoned)));
    after = page.cursor;
  } while (after !== null);
  return ids.join('');
}

describePort('filtered keys', (setup) => {
  test('each key is active, disabled or expired, and an expired one that is disabled is disabled', async () => {
    const { storage } = setup();
    await fillStates(storage);
    expect(await idsOf(storage, { state: 'active' })).toBe('adfh');
    expect(await idsOf(storage, { state: 'disabled' })).toBe('begi');
    expect(await idsOf(storage, { state: 'expired' })).toBe('cl');
    expect(await idsOf(storage, { state: 'expired', nowMs: NOW_MS + 1 })).toBe('cdl');
    expect(await idsOf(storage, {})).toBe('abcdefghil');
  });

  test('the keys on a plan are its own holders and those of identities on it, in the order of all keys', async () => {
    const { storage } = setup();
    await fillStates(storage);
    expect(await idsOf(storage, { planId: 'plan_1' })).toBe('fhil');
    expect(await idsOf(storage, { planId: 'plan_2' })).toBe('g');
    expect(await idsOf(storage, { planId: 'plan_9' })).toBe('');
    expect(await idsOf(storage, { planId: 'plan_1', apiId: 'api_2' })).toBe('k');
  });

  test('filters hold together', async () => {
    const { storage } = setup();
    await fillStates(storage);
    expect(await idsOf(storage, { planId: 'plan_1', state: 'active' })).toBe('fh');
    expect(await idsOf(storage, { planId: 'plan_1', state: 'expired' })).toBe('l');
    expect(await idsOf(storage, { externalId: 'user-7', state: 'disabled' })).toBe('i');
    expect(await idsOf(storage, { externalId: 'user-7', planId: 'plan_2' })).toBe('');
    expect(await idsOf(storage, { search: 'ann', state: 'disabled' })).toBe('i');
    expect(await idsOf(storage, { search: 'ann', planId: 'plan_1' })).toBe('i');
    expect(await idsOf(storage, { search: 'ann', state: 'active' })).toBe('');
  });

  test('a search with more hits than are counted finds the same keys, page by page, without a total', async () => {
    const { storage } = setup();
    await fillStates(storage);
    // Words that many keys have, and words that only one has: each kind is more than is counted.
    const many = Array.from({ length: MANY_KEYS }, (_, i) => `n${String(i).padStart(3, '0')}`);
    const words = Array.from({ length: 100 }, (_, i) => i);
    for (let first = 0; first < many.length; first += 25)
      await write(
        storage,
        ...many.slice(first, first + 25).map((id, i) => ({
          kind: 'insertKey' as const,
          key: key(id, { start: i % 2 === 0 ? 'sk_even' : 'sk_odd', enabled: i > 0 }),
          words: [...words.map((word) => `same${word}`), ...words.map((word) => `own${id}x${word}`)],
        })),
      );
    const list = (query: Partial<FilteredKeyQuery>) => idsOf(storage, { limit: 40, ...query });
    expect(await list({ search: 'same' })).toBe(many.join(''));
    expect(await list({ search: 'own' })).toBe(many.join(''));
    expect(await list({ search: 'own same' })).toBe(many.join(''));
    expect(await list({ search: 'own ann' })).toBe('');
    expect(await list({ search: 'same ownn007x3' })).toBe('n007');
    expect(await list({ search: 'same', state: 'disabled' })).toBe(many.filter((_, i) => i % 25 === 0).join(''));
    expect(await list({ search: 'same', externalId: 'user-7' })).toBe('');
    expect((await storage.records.listFilteredKeys({ ...EVERY_STATE, search: 'same' })).total).toBeNull();
    expect((await storage.records.listFilteredKeys({ ...EVERY_STATE, search: 'ann' })).total).toBe(1);
    expect((await storage.records.listFilteredKeys({ ...EVERY_STATE, search: 'sk_even' })).total).toBe(117);
  });

  test('a plan with many holders lists the same keys', async () => {
    const { storage } = setup();
    await fillStates(storage);
    const more = Array.from({ length: MANY_HOLDERS }, (_, i) =>
      identity(`id_more_${i}`, `more-${i}`, { planId: 'plan_1' }),
    );
    await write(storage, ...more.map((each) => ({ kind: 'insertIdentity' as const, identity: each })));
    expect(await idsOf(storage, { planId: 'plan_1' })).toBe('fhil');
    expect(await idsOf(storage, { planId: 'plan_1', state: 'disabled' })).toBe('i');
    expect(await idsOf(storage, { planId: 'plan_1', search: 'ann' })).toBe('i');
    expect(await idsOf(storage, { planId: 'plan_1', externalId: 'user-8' })).toBe('');
  });
});

/** A key with the words that the engine gives it. */
function inserted(id: string, fields: Partial<KeyRecord>): RecordWrite {
  const record = key(id, fields);
  return { kind: 'insertKey', key: record, words: searchWords(record.name, record.meta) };
}

async function search(storage: Storage, text: string, fields: Partial<KeyQuery> = {}): Promise<string[]> {
  const page = await storage.records.listKeys({ ...EVERY_KEY, search: text, ...fields });
  return page.items.map((item) => ('key' in item ? item.key.id : item.poisoned));
}

async function fillWords(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    inserted('a', { start: 'sk_live_7Kq2', name: 'Billing of ACME Corp', meta: '{"team":"north","cost":42}' }),
    inserted('b', { start: 'sk_live_9Zz1', name: 'billing-nightly', meta: '{"tags":["ACME","Österreich"]}' }),
    inserted('c', { start: 'pk_test_7Kq2', name: 'Straße 12', identityId: 'id_1' }),
    inserted('d', { start: 'none', meta: '{"deep":{"list":[{"word":"northern"}]}}', identityId: 'id_1' }),
    inserted('e', { start: 'sk_live_7Kq2', name: 'billing acme', deletedAtMs: 1 }),
    inserted('f', { start: 'sk_live_7Kq2', name: 'billing acme', apiId: 'api_2' }),
    inserted('g', { start: '東京_1', name: '東京 office' }),
  );
}

describePort('search', (setup) => {
  test.each([
    ['the beginning of a start', 'sk_live_', ['a', 'b']],
    ['a whole start', 'sk_live_7Kq2', ['a']],
    ['a start in other case', 'SK_LIVE_7KQ2', []],
    ['the middle of a start', '7Kq2', []],
    ['a word of a name', 'billing', ['a', 'b']],
    ['a word in other case', 'BILLING', ['a', 'b']],
    ['the beginning of a word', 'bil', ['a', 'b']],
    ['the middle of a word', 'illing', []],
    ['a word of the metadata', 'acme', ['a', 'b']],
    ['a word deep in the metadata, by its beginning', 'north', ['a', 'd']],
    ['a number of the metadata', '42', ['a']],
    ['a number of a name', '12', ['c']],
    ['letters beyond ASCII', 'österreich', ['b']],
    ['letters beyond ASCII in capitals', 'ÖSTER', ['b']],
    ['a letter that has no capital', 'straße', ['c']],
    ['letters of another script', '東京', ['g']],
    ['two words: both must be there', 'billing acme', ['a', 'b']],
    ['two words in another order', 'corp billing', ['a']],
    ['words of the name and of the metadata together', 'nightly österreich', ['b']],
    ['two words of which one is nowhere', 'billing nowhere', []],
    ['words apart by other signs', 'billing, (ACME)', ['a', 'b']],
    ['a name of a member of the metadata', 'team', []],
    ['what is nowhere', 'zzz', []],
    ['signs only', '%_*', []],
    ['a percent sign before a word is no wildcard', '%illing', []],
    ['an underscore is no wildcard in a start', 'sk_l_ve', []],
    [
      'more words than are looked at: the first eight count',
      'billing billing billing billing billing billing billing billing zzz',
      ['a', 'b'],
    ],
  ])('finds by %s', async (_name, text, ids) => {
    const { storage } = setup();
    await fillWords(storage);
    expect(await search(storage, text)).toEqual([...ids]);
  });

  test('pages and counts what it finds, once for each key, with an owner and without', async () => {
    const { storage } = setup();
    await fillWords(storage);
    await write(storage, ...Array.from({ length: 5 }, (_, i) => inserted(`n${i}`, { name: 'north north-east north' })));
    const query: KeyQuery = { ...EVERY_KEY, search: 'north', limit: 3 };
    const first = await storage.records.listKeys(query);
    expect([first.total, first.cursor]).toEqual([7, 'n0']);
    const second = await storage.records.listKeys({ ...query, after: first.cursor });
    expect([second.total, second.cursor]).toEqual([7, 'n3']);
    const third = await storage.records.listKeys({ ...query, after: second.cursor });
    expect([third.total, third.cursor]).toEqual([7, null]);
    const ids = [first, second, third].flatMap(({ items }) => items.map((item) => ('key' in item ? item.key.id : '')));
    expect(ids).toEqual(['a', 'd', 'n0', 'n1', 'n2', 'n3', 'n4']);
    expect(await search(storage, 'north', { externalId: 'user-7' })).toEqual(['d']);
    expect(await search(storage, 'north', { externalId: 'nobody' })).toEqual([]);
    expect(await search(storage, 'billing', { apiId: 'api_2' })).toEqual(['f']);
  });

  test('an update moves a key from its old words to its new ones, and leaves the rest', async () => {
    const { storage } = setup();
    await fillWords(storage);
    const words = { removed: ['billing', 'acme'], added: ['renamed'] };
    const renamed = key('a', { start: 'rk_1', name: 'renamed of Corp', revision: 2 });
    await write(storage, { kind: 'updateKey', key: renamed, expect: 1, words });
    expect(await search(storage, 'billing')).toEqual(['b']);
    expect(await search(storage, 'renamed')).toEqual(['a']);
    expect(await search(storage, 'corp')).toEqual(['a']);
    expect(await search(storage, 'rk_')).toEqual(['a']);
    expect(await search(storage, 'sk_live')).toEqual(['b']);
  });

  test('a refused update leaves the words as they were', async () => {
    const { storage } = setup();
    await fillWords(storage);
    const words = { removed: ['billing'], added: ['renamed'] };
    const stale = await write(storage, { kind: 'updateKey', key: key('a', { revision: 9 }), expect: 8, words });
    expect(stale.status).toBe('stale');
    expect([await search(storage, 'billing'), await search(storage, 'renamed')]).toEqual([['a', 'b'], []]);
  });

  test('a word that is added again, and one removed that is not there, change nothing', async () => {
    const { storage } = setup();
    await fillWords(storage);
    const words = { removed: ['absent'], added: ['billing'] };
    const update = { kind: 'updateKey', key: key('a', { revision: 2 }), expect: 1, words } as const;
    expect((await write(storage, update)).status).toBe('done');
    expect(await search(storage, 'billing')).toEqual(['a', 'b']);
  });

  test('a removed key leaves no words: a new one of its id is found by its own', async () => {
    const { storage } = setup();
    await fillWords(storage);
    const words = searchWords('billing-nightly', '{"tags":["ACME","Österreich"]}');
    const removed = { kind: 'removeKey', key: { id: 'b', apiId: 'api_1' }, expect: 1, words, digests: [] } as const;
    expect((await write(storage, removed)).status).toBe('done');
    await write(storage, inserted('b', { name: 'other' }));
    expect([await search(storage, 'billing'), await search(storage, 'other')]).toEqual([['a'], ['b']]);
  });

  test('a softly deleted key is not found, and is again when it comes back, without its words being named', async () => {
    const { storage } = setup();
    await fillWords(storage);
    const back = key('e', { start: 'sk_live_7Kq2', name: 'billing acme', revision: 2 });
    await write(storage, { kind: 'updateKey', key: back, expect: 1 });
    expect(await search(storage, 'billing')).toEqual(['a', 'b', 'e']);
    expect(await search(storage, 'sk_live')).toEqual(['a', 'b', 'e']);
  });

  test('a hundred words of one key are all found, also after a reopen', async () => {
    const meta = JSON.stringify({ words: Array.from({ length: 100 }, (_, i) => `w${i}x`) });
    await write(setup().storage, inserted('a', { meta }));
    await setup().reopen();
    for (const word of ['w0x', 'w50x', 'w99x']) expect(await search(setup().storage, word)).toEqual(['a']);
  });
});
