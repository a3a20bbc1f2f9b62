import { expect, test } from 'bun:test';

import { KeyCache } from '../../../src/engine/cache/keyCache.ts';
import type { KeyWithIdentity, PlanWithPermissions, Records } from '../../../src/storage/port/records.ts';
import { found, identity, key, plan } from '../../postgres/conformance/samples.ts';
import { textReader } from '../../../src/system.ts';

const LIMIT = { name: 'r', limit: 1, durationMs: 1_000, async: true };
const onPlan = (planId: string): KeyWithIdentity =>
  found(key(`key of ${planId}`, { identityId: `id of ${planId}` }), {
    identity: identity(`id of ${planId}`, `owner of ${planId}`, { planId }),
  });
const KEYS = new Map([
  ['a', onPlan('plan_a')],
  ['b', onPlan('plan_b')],
  ['none', found(key('key_none'))],
]);

/** Plans are read when the test says so. */
function setup() {
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
    reads.get(id)?.resolve([{ plan: plan(id, id, { limits: [LIMIT] }), permissions: null }]);
    await turn();
  };
  return { cache, reads, answer, turn };
}

test('a key is never answered without the plan of its identity, also when that changes while another plan is read', async () => {
  const { cache, answer } = setup();
  const looking = [cache.lookUp('a'), cache.lookUp('b')];
  await answer('plan_a');
  cache.dropPlan('plan_a');
  await answer('plan_b');
  expect(cache.peek('a')).toBeUndefined();
  await answer('plan_a');
  for (const entry of await Promise.all(looking)) expect(entry?.alwaysApplied).toMatchObject([{ name: 'r' }]);
  cache.dropPlan('plan_a');
  expect(cache.peek('a')).toBeUndefined();
  expect(cache.peek('b')?.alwaysApplied).toMatchObject([{ name: 'r' }]);
});

test('a plan that cannot be read concerns its holders alone, and is tried again', async () => {
  const { cache, reads, answer, turn } = setup();
  const [a, none] = [cache.lookUp('a'), cache.lookUp('none')];
  await turn();
  reads.get('plan_a')?.reject(new Error('spoilt'));
  expect(a).rejects.toThrow('spoilt');
  expect((await none)?.id).toBe('key_none');
  const again = cache.lookUp('a');
  await answer('plan_a');
  expect((await again)?.alwaysApplied).toMatchObject([{ name: 'r' }]);
});
