import { expect, test } from 'bun:test';

import type { OverrideRecord } from '../../../../src/model/overrides.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { namespace, override, write } from '../samples.ts';

const EXACT = override('ovr_1', 'user-7', { limit: 0, durationMs: 1000, async: true, updatedAtMs: 9 });
const WILD = override('ovr_2', 'user-*', { limit: Number.MAX_SAFE_INTEGER });
const OTHER = override('ovr_3', 'user-7', { namespaceId: 'ns_2' });

async function fill(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertNamespace', namespace: namespace('ns_1', 'emails') },
    { kind: 'insertNamespace', namespace: namespace('ns_2', 'Emails') },
    ...[WILD, EXACT, OTHER].map((each) => ({ kind: 'insertOverride' as const, override: each, expectPatterns: 0 })),
  );
}

describePort('namespaces and their overrides', (setup) => {
  test('a namespace is found by its name and by its id, in no other spelling', async () => {
    await fill(setup().storage);
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.findNamespace('emails')).toEqual({ ...namespace('ns_1', 'emails'), patternsRevision: 1 });
    expect(await records.findNamespace('Emails')).toEqual(namespace('ns_2', 'Emails'));
    expect(await records.findNamespaceById('ns_2')).toEqual(namespace('ns_2', 'Emails'));
    expect([await records.findNamespace('EMAILS'), await records.findNamespaceById('emails')]).toEqual([null, null]);
  });

  test('namespaces are counted, no further than asked', async () => {
    const { storage } = setup();
    await fill(storage);
    expect(await Promise.all([0, 1, 2, 3].map((upTo) => storage.records.countNamespaces(upTo)))).toEqual([0, 1, 2, 2]);
  });

  test('names of namespaces, and identifiers in one, are unique: the second is stale and changes nothing', async () => {
    const { storage } = setup();
    await fill(storage);
    for (const second of [
      { kind: 'insertNamespace', namespace: namespace('ns_9', 'emails') },
      { kind: 'insertNamespace', namespace: namespace('ns_1', 'other') },
      { kind: 'insertOverride', override: override('ovr_9', 'user-7'), expectPatterns: 1 },
      { kind: 'insertOverride', override: override('ovr_1', 'other'), expectPatterns: 1 },
      { kind: 'updateOverride', override: override('ovr_1', 'user-*'), expect: 0, expectPatterns: 1 },
      { kind: 'updateOverride', override: override('ovr_9', 'user-9'), expect: 0, expectPatterns: 1 },
      { kind: 'removeOverride', override: override('ovr_9', 'user-9'), expectPatterns: 1 },
      // Made from an older revision of the override, or of the patterns.
      { kind: 'updateOverride', override: { ...EXACT, limit: 7 }, expect: 1, expectPatterns: 1 },
      { kind: 'removeOverride', override: { ...EXACT, revision: 1 }, expectPatterns: 1 },
      { kind: 'insertOverride', override: override('ovr_9', 'team-*'), expectPatterns: 0 },
      { kind: 'updateOverride', override: { ...WILD, limit: 7 }, expect: 0, expectPatterns: 2 },
      { kind: 'removeOverride', override: WILD, expectPatterns: 0 },
    ] as const) {
      expect([second, (await write(storage, second)).status]).toEqual([second, 'stale'] as never);
    }
    expect(await storage.records.findNamespace('other')).toBeNull();
    expect(await storage.records.listAllOverrides('ns_1')).toEqual([EXACT, WILD]);
  });

  test('an override is found by its identifier to the letter, in its own namespace', async () => {
    const { storage } = setup();
    await fill(storage);
    const find = (namespaceId: string, identifier: string) => storage.records.findOverride(namespaceId, identifier);
    expect(await find('ns_1', 'user-7')).toEqual(EXACT);
    expect(await find('ns_1', 'user-*')).toEqual(WILD);
    expect(await find('ns_2', 'user-7')).toEqual(OTHER);
    for (const identifier of ['user-8', 'User-7', 'user-', '*', '%']) {
      expect([identifier, await find('ns_1', identifier)]).toEqual([identifier, null]);
    }
    expect(await find('ns_2', 'user-*')).toBeNull();
  });

  test('a changed override is seen by the next read, a removed one is gone and its identifier free', async () => {
    const { storage } = setup();
    await fill(storage);
    const changed: OverrideRecord = {
      ...EXACT,
      limit: 5,
      durationMs: 2000,
      async: false,
      updatedAtMs: 10,
      revision: 1,
    };
    const update = { kind: 'updateOverride', override: changed, expect: 0, expectPatterns: 1 } as const;
    expect((await write(storage, update)).status).toBe('done');
    expect(await storage.records.findOverride('ns_1', 'user-7')).toEqual(changed);
    await write(storage, { kind: 'removeOverride', override: changed, expectPatterns: 1 });
    expect(await storage.records.findOverride('ns_1', 'user-7')).toBeNull();
    expect(await storage.records.listAllOverrides('ns_1')).toEqual([WILD]);
    expect(await storage.records.listAllOverrides('ns_2')).toEqual([OTHER]);
    const again = override('ovr_9', 'user-7');
    expect((await write(storage, { kind: 'insertOverride', override: again, expectPatterns: 1 })).status).toBe('done');
  });

  test('pages hold the overrides of one namespace by id, and the total on each', async () => {
    const { storage } = setup();
    await fill(storage);
    await write(
      storage,
      ...Array.from({ length: 5 }, (_, i) => ({
        kind: 'insertOverride' as const,
        override: override(`o_${i}`, `${i}`),
        expectPatterns: 1,
      })),
    );
    const list = (limit: number, after: string | null) => storage.records.listOverrides('ns_1', { limit, after });
    const ids = ({ items }: { items: readonly OverrideRecord[] }) => items.map(({ id }) => id);
    const first = await list(4, null);
    expect([ids(first), first.total, first.cursor]).toEqual([['o_0', 'o_1', 'o_2', 'o_3'], 7, 'o_3']);
    const second = await list(4, first.cursor);
    expect([ids(second), second.total, second.cursor]).toEqual([['o_4', 'ovr_1', 'ovr_2'], 7, null]);
    expect(second.items.slice(1)).toEqual([EXACT, WILD]);
    expect(await storage.records.listOverrides('ns_9', { limit: 4, after: null })).toEqual({
      items: [],
      total: 0,
      cursor: null,
    });
  });
});
