import { expect, test } from 'bun:test';

import type { FilteredKeyQuery } from '../../../../src/storage/port/records.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { EVERY_KEY, identity, key, plan, write } from '../samples.ts';

const NOW_MS = 50_000;
const ALL: FilteredKeyQuery = { ...EVERY_KEY, state: null, planId: null, nowMs: NOW_MS };

/** More identities on a plan are not looked up one by one. */
const MANY_HOLDERS = 1_001;
/** With a hundred words each, a search finds more than 20,000 entries. */
const MANY_KEYS = 225;

async function fill(storage: Storage): Promise<void> {
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
    const page = await storage.records.listFilteredKeys({ ...ALL, limit: 1, ...query, after });
    ids.push(...page.items.map((item) => ('key' in item ? item.key.id : item.poisoned)));
    after = page.cursor;
  } while (after !== null);
  return ids.join('');
}

describePort('filtered keys', (setup) => {
  test('each key is active, disabled or expired, and an expired one that is disabled is disabled', async () => {
    const { storage } = setup();
    await fill(storage);
    expect(await idsOf(storage, { state: 'active' })).toBe('adfh');
    expect(await idsOf(storage, { state: 'disabled' })).toBe('begi');
    expect(await idsOf(storage, { state: 'expired' })).toBe('cl');
    expect(await idsOf(storage, { state: 'expired', nowMs: NOW_MS + 1 })).toBe('cdl');
    expect(await idsOf(storage, {})).toBe('abcdefghil');
  });

  test('the keys on a plan are its own holders and those of identities on it, in the order of all keys', async () => {
    const { storage } = setup();
    await fill(storage);
    expect(await idsOf(storage, { planId: 'plan_1' })).toBe('fhil');
    expect(await idsOf(storage, { planId: 'plan_2' })).toBe('g');
    expect(await idsOf(storage, { planId: 'plan_9' })).toBe('');
    expect(await idsOf(storage, { planId: 'plan_1', apiId: 'api_2' })).toBe('k');
  });

  test('filters hold together', async () => {
    const { storage } = setup();
    await fill(storage);
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
    await fill(storage);
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
    expect((await storage.records.listFilteredKeys({ ...ALL, search: 'same' })).total).toBeNull();
    expect((await storage.records.listFilteredKeys({ ...ALL, search: 'ann' })).total).toBe(1);
    expect((await storage.records.listFilteredKeys({ ...ALL, search: 'sk_even' })).total).toBe(117);
  });

  test('a plan with many holders lists the same keys', async () => {
    const { storage } = setup();
    await fill(storage);
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
