import { expect, test } from 'bun:test';

import { type AppliedLimit, type KeyEntry, windowOf } from '../../../src/engine/cache/entries.ts';
import { KeyCache } from '../../../src/engine/cache/keyCache.ts';
import { refusedByRecord } from '../../../src/engine/verify/pipeline.ts';
import type { VerifyRequest } from '../../../src/engine/verify/request.ts';
import type { KeyWithIdentity, PlanWithPermissions, Records } from '../../../src/storage/port/records.ts';
import { found, identity, key, plan } from '../../postgres/conformance/samples.ts';
import { textReader } from '../../../src/bunPlatform.ts';

/** Asks for nothing but the key. */
const REQUEST = { mayVerify: null, apiId: null, permissions: null } as VerifyRequest;
const LIMIT = { name: 'r', limit: 1, durationMs: 1_000, async: true };
const onPlan = (planId: string): KeyWithIdentity =>
  found(key(`key of ${planId}`, { identityId: `id of ${planId}` }), {
    identity: identity(`id of ${planId}`, `owner of ${planId}`, { planId }),
  });
const itselfOnPlan = (planId: string): KeyWithIdentity => found(key(`key_${planId.padEnd(22, '_')}`, { planId }));
const KEYS = new Map([
  ['own a', itselfOnPlan('plan_a')],
  ['own b', found(key('key_b', { planId: 'plan_b', name: 'with a side' }))],
  ['a', onPlan('plan_a')],
  ['b', onPlan('plan_b')],
  ...['named', 'other named'].map(
    (name) =>
      [name, found(key(name, { identityId: 'id of plan_a', name }), { identity: onPlan('plan_a').identity })] as const,
  ),
  ['none', found(key('key_none'))],
]);

/** Plans are read when the test says so. They are others each time. */
function setup() {
  let revision = 0;
  const reads = new Map<string, PromiseWithResolvers<readonly PlanWithPermissions[]>>();
  const records = {
    findKeysByDigest: async (digests: readonly string[]) => digests.map((digest) => KEYS.get(digest) ?? null),
    findPlans: ([id = '']: readonly string[]) => {
      const read = Promise.withResolvers<readonly PlanWithPermissions[]>();
      reads.set(id, read);
      return read.promise;
    },
  };
  const cache = new KeyCache(records as unknown as Records, 100, textReader);
  const turn = () => new Promise((resolve) => void setImmediate(resolve));
  const answer = async (id: string) => {
    await turn();
    reads.get(id)?.resolve([{ plan: plan(id, id, { limits: [LIMIT], revision: ++revision }), permissions: null }]);
    await turn();
  };
  return { cache, reads, answer, turn };
}

/** A key on each plan: by their identities, or by themselves. Of the latter, one has a side. */
const PAIRS = [
  ['of its identity', 'a', 'b'],
  ['of its own', 'own a', 'own b'],
] as const;

test.each(PAIRS)(
  'a key is never answered without the plan %s, also when that changes meanwhile',
  async (_whose, a, b) => {
    const { cache, answer } = setup();
    const looking = [cache.lookUp(a), cache.lookUp(b)];
    await answer('plan_a');
    cache.dropPlan('plan_a');
    await answer('plan_b');
    expect(cache.peek(a)).toBeUndefined();
    await answer('plan_a');
    for (const entry of await Promise.all(looking)) expect(entry?.alwaysApplied).toMatchObject([{ name: 'r' }]);
    cache.dropPlan('plan_a');
    expect(cache.peek(a)).toBeUndefined();
    expect(cache.peek(b)?.alwaysApplied).toMatchObject([{ name: 'r' }]);
  },
);

test.each(PAIRS)(
  'a plan %s that cannot be read concerns its holders alone, and is tried again',
  async (_whose, holder) => {
    const { cache, reads, answer, turn } = setup();
    const [a, none] = [cache.lookUp(holder), cache.lookUp('none')];
    await turn();
    reads.get('plan_a')?.reject(new Error('spoilt'));
    expect(a).rejects.toThrow('spoilt');
    expect((await none)?.id).toBe('key_none');
    expect([cache.size, cache.identityCount]).toEqual([1, 0]);
    const again = cache.lookUp(holder);
    await answer('plan_a');
    expect((await again)?.alwaysApplied).toMatchObject([{ name: 'r' }]);
  },
);

test.each(PAIRS)('the windows of strict limits of a plan %s are kept while it stays as it is', async (_whose, a, b) => {
  const digests = [a, b];
  const { cache, answer } = setup();
  const looking = digests.map((digest) => cache.lookUp(digest));
  for (const planId of ['plan_a', 'plan_b']) await answer(planId);
  await Promise.all(looking);
  const entryOf = (digest: string) => cache.peek(digest) as KeyEntry;
  const limitOf = (digest: string) => entryOf(digest).alwaysApplied?.[0] as AppliedLimit;
  for (const [i, digest] of digests.entries()) {
    cache.keepWindow(entryOf(digest), limitOf(digest), 7 + i);
    cache.keepWindow(entryOf(digest), { ...limitOf(digest), cost: 3 }, 99);
  }
  const windows = () => digests.map((digest) => windowOf(entryOf(digest), limitOf(digest)));
  expect(windows()).toEqual([7, 8]);
  for (const digest of digests) expect(windowOf(entryOf(digest), { ...limitOf(digest), cost: 3 })).toBeNull();
  for (const [i, digest] of digests.entries()) {
    const planId = i === 0 ? 'plan_a' : 'plan_b';
    cache.dropPlan(planId);
    const again = cache.lookUp(digest);
    await answer(planId);
    await again;
  }
  expect(windows()).toEqual([null, null]);
});

test('a key whose plan does not exist is refused: nothing would limit it', async () => {
  const { cache, reads, turn } = setup();
  const looking = ['a', 'own a', 'own b'].map((digest) => cache.lookUp(digest));
  await turn();
  for (const planId of ['plan_a', 'plan_b']) reads.get(planId)?.resolve([]);
  for (const entry of await Promise.all(looking)) {
    expect(refusedByRecord(entry as KeyEntry, REQUEST, 1)).toBe('DISABLED');
  }
});

test('keys with names share what is known of their identity, until that or its plan changes', async () => {
  const { cache, answer } = setup();
  const digests = ['named', 'other named'];
  const read = async (): Promise<readonly KeyEntry[]> => {
    const looking = digests.map((digest) => cache.lookUp(digest));
    await answer('plan_a');
    return (await Promise.all(looking)) as KeyEntry[];
  };
  const changes = [() => cache.dropIdentity('id of plan_a'), () => cache.dropPlan('plan_a')];
  for (const change of changes) {
    const [named, other] = (await read()) as [KeyEntry, KeyEntry];
    expect(named.identity).not.toBeNull();
    expect(named.identity).toBe(other.identity);
    const [limit] = named.alwaysApplied as [AppliedLimit];
    expect([windowOf(named, limit), windowOf(other, limit)]).toEqual([null, null]);
    cache.keepWindow(named, limit, 77);
    expect(digests.map((digest) => windowOf(cache.peek(digest) as KeyEntry, limit))).toEqual([77, 77]);
    change();
    expect(digests.map((digest) => cache.peek(digest))).toEqual([undefined, undefined]);
  }
});
