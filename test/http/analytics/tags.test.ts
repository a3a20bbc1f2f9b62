import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { AnalyticsApiSetup, valid, ZERO } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
beforeEach(async () => {
  setup = await AnalyticsApiSetup.make({ KEYSTILE_ANALYTICS_TAG_LISTS: '2' });
});
afterEach(() => setup.service.close());

/** What other background work does in a running service. */
async function fold(): Promise<void> {
  await setup.service.engine.countWriting.flush();
  await setup.service.engine.countWriting.fold();
}

describe('tags beyond the bound of an api', () => {
  test('are shown under `other`, which is a tag like any other; totals are exact', async () => {
    const { key, keyId } = await setup.createKey();
    for (const tags of [['a'], ['b', 'a'], ['c'], ['d', 'a']]) await setup.verifyTimes(key, 2, { tags });
    await setup.verifyTimes(key, 1);
    expect(await setup.ask()).toEqual([valid(9)]);
    expect(await setup.ask({ groupBy: 'tags' })).toEqual([
      valid(4, { tags: ['other'] }),
      valid(2, { tags: ['a'] }),
      valid(2, { tags: ['a', 'b'] }),
      valid(1, { tags: [] }),
    ]);
    expect(await setup.ask({ groupBy: ['key', 'tag'] })).toEqual([
      valid(4, { keyId, tag: 'a' }),
      valid(4, { keyId, tag: 'other' }),
      valid(2, { keyId, tag: 'b' }),
      valid(1, { keyId }),
    ]);
    expect(await setup.ask({ tag: 'other' })).toEqual([valid(4)]);
    expect(await setup.ask({ tag: 'c' })).toEqual([ZERO]);
  });

  test('of a key that is refused count under `other` unless they are known; by key and outcome nothing changes', async () => {
    const { key } = await setup.createKey();
    const off = await setup.createKey({ enabled: false });
    await setup.verifyTimes(off.key, 1, { tags: ['a'] });
    await setup.verifyTimes(key, 1, { tags: ['a'] });
    await setup.verifyTimes(off.key, 2, { tags: ['a'] });
    await setup.verifyTimes(off.key, 3, { tags: ['random'] });
    const disabled = (count: number) => ({ ...ZERO, disabled: count, total: count });
    expect(await setup.ask({ groupBy: 'tags', keyId: off.keyId })).toEqual([
      { ...disabled(4), tags: ['other'] },
      { ...disabled(2), tags: ['a'] },
    ]);
    expect(await setup.ask({ keyId: off.keyId })).toEqual([disabled(6)]);
  });

  test('a restart forgets none of the lists that are in the sums', async () => {
    const { key } = await setup.createKey();
    for (const tags of [['a'], ['b']]) await setup.verifyTimes(key, 1, { tags });
    await fold();
    await setup.service.restart();
    const off = await setup.createKey({ enabled: false });
    await setup.verifyTimes(off.key, 1, { tags: ['none'] });
    await setup.service.engine.countWriting.learnTags();
    await setup.verifyTimes(off.key, 1, { tags: ['b'] });
    await setup.verifyTimes(key, 1, { tags: ['c'] });
    await setup.verifyTimes(key, 1, { tags: ['a'] });
    expect(await setup.ask({ groupBy: 'tags', orderBy: 'valid', order: 'desc' })).toEqual([
      valid(2, { tags: ['a'] }),
      { ...ZERO, valid: 1, disabled: 1, total: 2, tags: ['b'] },
      { ...ZERO, valid: 1, disabled: 1, total: 2, tags: ['other'] },
    ]);
  });
});
