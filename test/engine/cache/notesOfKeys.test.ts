import { expect, test } from 'bun:test';

import type { KeyEntry } from '../../../src/engine/cache/entries.ts';
import { found as foundKey, identity, key } from '../../postgres/conformance/samples.ts';
import { make } from './slowRecords.ts';

test.each([
  ['with a side', 'key_a', 'a'],
  ['packed', 'key_1111111111111111111111', new Bun.CryptoHasher('sha256').update('a').digest('base64')],
])('a key (%s) keeps what is noted about its records until one of them changes', async (_form, id, digest) => {
  const { cache, records } = make();
  const read = async (revision: number, ofIdentity: number): Promise<KeyEntry> => {
    const lookup = cache.lookUp(digest);
    const owner = identity('id_1', 'user', { revision: ofIdentity });
    (await records.next()).answer(foundKey(key(id, { revision, identityId: 'id_1' }), { identity: owner }));
    return (await lookup) as KeyEntry;
  };
  const noted = () => cache.checkedAt(cache.peek(digest) as KeyEntry);
  const first = await read(1, 1);
  expect(noted()).toBe(0);
  cache.keepChecked(first, 7);
  expect([noted(), noted()]).toEqual([7, 7]);
  cache.dropIdentity('id_1');
  const second = await read(1, 2);
  expect(noted()).toBe(0);
  cache.keepChecked(second, 8);
  cache.drop(digest);
  await read(2, 2);
  expect(noted()).toBe(0);
  // What is still under way with an entry of before notes nothing for the present one.
  cache.keepChecked(first, 9);
  cache.keepChecked(second, 9);
  expect(noted()).toBe(0);
  cache.keepChecked(cache.peek(digest) as KeyEntry, 9);
  cache.clear();
  await read(2, 2);
  expect(noted()).toBe(0);
});
