import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { readConfig } from '../../../src/config/read.ts';
import type { KeyCache } from '../../../src/engine/cache/keyCache.ts';
import type { KeyEntry } from '../../../src/engine/cache/entries.ts';
import { flagsOf, identityRowOf } from '../../../src/engine/cache/keyRows.ts';
import { BLANK_KEY } from '../../../src/model/keys.ts';
import { found as foundKey, identity, key } from '../../postgres/conformance/samples.ts';
import { make } from './slowRecords.ts';

test('identities are in memory as long as a cached key has them, whatever is read, dropped and changed', async () => {
  const numbers = fc.nat({ max: 15 });
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        read: numbers,
        form: fc.constantFrom('packed', 'named', 'permitted'),
        owner: fc.nat({ max: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ drop: numbers }) },
    { weight: 2, arbitrary: fc.record({ dropIdentity: fc.nat({ max: 4 }) }) },
    { weight: 1, arbitrary: fc.constantFrom('api' as const, 'clear' as const, 'access' as const) },
  );
  const digestOf = (number: number): string => Bun.SHA256.hash(String(number), 'base64');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { cache, records } = make(4);
      const owners = new Map<number, string>();
      const read = async (number: number, form: string, owner: string): Promise<void> => {
        if (cache.peek(digestOf(number)) !== undefined) return;
        owners.set(number, owner);
        const lookup = cache.lookUp(digestOf(number));
        const fields = { identityId: owner, apiId: `api_${number % 2}`, name: form === 'named' ? 'a name' : null };
        const permissions = form === 'permitted' ? { roles: [], direct: [], grants: [] } : null;
        const record = key(`key_${String(number).padStart(22, '0')}`, fields);
        (await records.next()).answer(
          foundKey(record, { identity: identity(owner, `owner of ${owner}`), permissions }),
        );
        await lookup;
      };
      for (const each of steps) {
        if (each === 'clear') cache.clear();
        else if (each === 'api') cache.dropApi('api_1');
        else if (each === 'access') cache.dropAccess();
        else if ('read' in each) await read(each.read, each.form, `id_${each.owner}`);
        else if ('drop' in each) cache.drop(digestOf(each.drop));
        else cache.dropIdentity(`id_${each.dropIdentity}`);
      }
      for (let number = 0; number <= 15; number++) {
        const found = cache.peek(digestOf(number))?.identity;
        if (found != null)
          expect([found.id, found.externalId]).toEqual([owners.get(number), `owner of ${found.id}`] as string[]);
        expect(cache.identityCount).toBeLessThanOrEqual(cache.size);
        const before = cache.size;
        cache.drop(digestOf(number));
        expect(before - cache.size).toBeLessThanOrEqual(1);
      }
      expect([cache.size, cache.identityCount]).toEqual([0, 0]);
    }),
    { seed: Number(process.env['KEYSTILE_TEST_SEED'] ?? 1), numRuns: 200 },
  );
});

test('a named key whose customer has changed is answered with none of the text that was made before', async () => {
  const { cache, records } = make();
  const digests = ['a', 'b'];
  const read = async (digest: string, revision: number): Promise<KeyEntry> => {
    const lookup = cache.lookUp(digest);
    const owner = identity('id_1', 'owner', { meta: JSON.stringify({ revision }), revision });
    (await records.next()).answer(
      foundKey(key(`key_${digest}`, { identityId: 'id_1', name: digest }), { identity: owner }),
    );
    return (await lookup) as KeyEntry;
  };
  for (const digest of digests) (await read(digest, 1)).wire = { text: 'of the first revision', isAscii: true };
  for (const digest of digests) expect(cache.peek(digest)?.wire?.text).toBe('of the first revision');
  cache.dropIdentity('id_1');
  // The identity is read again with the first key; the second one follows without a read of its own.
  await read('a', 2);
  for (const digest of digests) {
    const entry = cache.peek(digest);
    expect([entry?.identity?.meta, entry?.wire]).toEqual(['{"revision":2}', null]);
  }
});

const DIGEST = Bun.SHA256.hash('one key', 'base64');

test.each([
  ['a name', { name: null }, { name: 'a name' }],
  ['no name any more', { name: 'a name' }, { name: null }],
])('a key that has %s is found as it is now, once', async (_what, before, after) => {
  const { cache, records } = make();
  for (const [revision, fields] of [
    [1, before],
    [2, after],
  ] as const) {
    const lookup = cache.lookUp(DIGEST);
    const record = key('key_1111111111111111111111', { identityId: 'id_1', revision, ...fields });
    (await records.next()).answer(foundKey(record, { identity: identity('id_1', 'owner') }));
    expect((await lookup)?.revision).toBe(revision);
    expect([cache.peek(DIGEST)?.revision, cache.size, cache.identityCount]).toEqual([revision, 1, 1]);
    // Somebody else has changed its customer: both are read again.
    if (revision === 1) cache.dropIdentity('id_1');
  }
});

test('the flags of a key have room for the row of its identity, whatever KEYSTILE_MAX_CACHED_KEYS says', () => {
  const most = 2 ** 24 - 1;
  for (const row of [0, 1, 2 ** 20, 2 ** 23, most]) {
    const flags = flagsOf({ ...BLANK_KEY, identityId: 'id_1' }, { identityRow: row, planSlot: null });
    expect(identityRowOf(flags >>> 0)).toBe(row);
  }
  const { problems } = readConfig({
    environment: { KEYSTILE_MAX_CACHED_KEYS: String(most) },
    flags: {},
    readFile: () => '',
  });
  expect(problems).toMatchObject([expect.stringContaining('KEYSTILE_MAX_CACHED_KEYS')]);
});

test.each([
  ['is dropped', (cache: KeyCache, digest: string) => cache.drop(digest)],
  ['goes with all others', (cache: KeyCache) => cache.clear()],
])('what a key has counted is told with its identity when it %s', async (_how, end) => {
  for (const meta of [null, '{"a":1}']) {
    const { cache, records } = make();
    const digest = Bun.SHA256.hash('counted', 'base64');
    const lookup = cache.lookUp(digest);
    const record = key('key_1111111111111111111111', { identityId: 'id_1' });
    (await records.next()).answer(foundKey(record, { identity: identity('id_1', 'owner', { meta }) }));
    const told: string[] = [];
    cache.counts.onDropped = ({ identityId }) => void told.push(identityId);
    expect(cache.counts.count((await lookup) as KeyEntry, 1, 0)).toBe(true);
    end(cache, digest);
    expect(told).toEqual(['id_1']);
  }
});
