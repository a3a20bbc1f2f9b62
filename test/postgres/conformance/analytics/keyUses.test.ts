import { expect, test } from 'bun:test';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import { describePort } from '../adapters.ts';
import { key, removal, verificationCount, write } from '../samples.ts';

describePort('last uses of keys', (setup) => {
  test('are written down at most once a minute for each key, and never go back', async () => {
    const { storage } = setup();
    const uses: (number | null)[] = [];
    let batch = 0;
    for (const lastAtMs of [1_000_000, 1_059_999, 1_060_000, 900_000, 1_119_999, 1_120_001]) {
      await storage.analytics.add(CountColumns.of([verificationCount({ lastAtMs })]), ++batch);
      await storage.analytics.fold();
      uses.push(...(await storage.records.readLastUses(['key_1'])));
    }
    expect(uses).toEqual([1_000_000, 1_000_000, 1_060_000, 1_060_000, 1_060_000, 1_120_001]);
  });

  test('are the latest of all counts of a key, also after a reopen; unknown keys have none', async () => {
    await setup().storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', lastAtMs: 5, tags: '["a"]' }),
        verificationCount({ keyId: 'key_1', lastAtMs: 9 }),
        verificationCount({ keyId: 'key_1', lastAtMs: 7, identityId: 'id_1' }),
        verificationCount({ keyId: 'key_2', lastAtMs: 3 }),
        verificationCount({ keyId: '', lastAtMs: 99 }),
      ]),
      1,
    );
    await setup().reopen();
    const { records, analytics } = setup().storage;
    await analytics.fold();
    expect(await records.readLastUses(['key_2', 'key_9', 'key_1', '', 'key_2'])).toEqual([3, null, 9, null, 3]);
    expect(await records.readLastUses([])).toEqual([]);
  });

  test('are removed behind a key that was removed, and stay with one that is deleted softly', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') }, { kind: 'insertKey', key: key('key_2') });
    await storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', lastAtMs: 5 }),
        verificationCount({ keyId: 'key_2', lastAtMs: 6 }),
      ]),
      1,
    );
    await storage.analytics.fold();
    await write(storage, removal('key_1', 1));
    await write(storage, { kind: 'updateKey', key: key('key_2', { deletedAtMs: 1, revision: 2 }), expect: 1 });
    expect(await storage.analytics.pruneUses(null)).toBeNull();
    expect(await storage.records.readLastUses(['key_1', 'key_2'])).toEqual([null, 6]);
  });

  test('are looked through in steps, each from where the last one ended', async () => {
    const { storage } = setup();
    const ids = Array.from({ length: 10_001 }, (_, i) => `key_${String(i).padStart(5, '0')}`);
    await storage.analytics.add(CountColumns.of(ids.map((keyId) => verificationCount({ keyId, lastAtMs: 5 }))), 1);
    while (!(await storage.analytics.fold()));
    expect(await storage.analytics.pruneUses(null)).toBe('key_09999');
    expect(await storage.records.readLastUses(['key_00000', 'key_09999', 'key_10000'])).toEqual([null, null, 5]);
    expect(await storage.analytics.pruneUses('key_09999')).toBeNull();
    expect(await storage.records.readLastUses(['key_10000'])).toEqual([null]);
  });
});
