import { expect, test } from 'bun:test';

import type { KeyRecord } from '../../../../src/model/keys.ts';
import { searchWords } from '../../../../src/core/search.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { KeyQuery } from '../../../../src/storage/port/records.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { EVERY_KEY, identity, key, write } from '../samples.ts';

/** A key with the words that the engine gives it. */
function inserted(id: string, fields: Partial<KeyRecord>): RecordWrite {
  const record = key(id, fields);
  return { kind: 'insertKey', key: record, words: searchWords(record.name, record.meta) };
}

async function search(storage: Storage, text: string, fields: Partial<KeyQuery> = {}): Promise<string[]> {
  const page = await storage.records.listKeys({ ...EVERY_KEY, search: text, ...fields });
  return page.items.map((item) => ('key' in item ? item.key.id : item.poisoned));
}

async function fill(storage: Storage): Promise<void> {
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
    await fill(storage);
    expect(await search(storage, text)).toEqual([...ids]);
  });

  test('pages and counts what it finds, once for each key, with an owner and without', async () => {
    const { storage } = setup();
    await fill(storage);
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
    await fill(storage);
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
    await fill(storage);
    const words = { removed: ['billing'], added: ['renamed'] };
    const stale = await write(storage, { kind: 'updateKey', key: key('a', { revision: 9 }), expect: 8, words });
    expect(stale.status).toBe('stale');
    expect([await search(storage, 'billing'), await search(storage, 'renamed')]).toEqual([['a', 'b'], []]);
  });

  test('a word that is added again, and one removed that is not there, change nothing', async () => {
    const { storage } = setup();
    await fill(storage);
    const words = { removed: ['absent'], added: ['billing'] };
    const update = { kind: 'updateKey', key: key('a', { revision: 2 }), expect: 1, words } as const;
    expect((await write(storage, update)).status).toBe('done');
    expect(await search(storage, 'billing')).toEqual(['a', 'b']);
  });

  test('a removed key leaves no words: a new one of its id is found by its own', async () => {
    const { storage } = setup();
    await fill(storage);
    const words = searchWords('billing-nightly', '{"tags":["ACME","Österreich"]}');
    const removed = { kind: 'removeKey', key: { id: 'b', apiId: 'api_1' }, expect: 1, words, digests: [] } as const;
    expect((await write(storage, removed)).status).toBe('done');
    await write(storage, inserted('b', { name: 'other' }));
    expect([await search(storage, 'billing'), await search(storage, 'other')]).toEqual([['a'], ['b']]);
  });

  test('a softly deleted key is not found, and is again when it comes back, without its words being named', async () => {
    const { storage } = setup();
    await fill(storage);
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
