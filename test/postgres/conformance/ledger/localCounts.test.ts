import { expect, test } from 'bun:test';

import { type LocalCount, PRUNE_GRACE_MS, type Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';

const count = (name: string, fields: Partial<LocalCount> = {}): LocalCount => ({
  owner: 'key_1',
  name,
  durationMs: 60_000,
  count: 1,
  resetAtMs: Date.parse('2026-03-15T12:01:00Z'),
  ...fields,
});

/** What is known of an owner's windows. A start may be a new node of its own, to which its former self is another. */
async function known({ localCounts }: Storage, owner: string): Promise<LocalCount[]> {
  return (await localCounts.load(owner)).map(({ others, count: own, ...rest }) => ({ ...rest, count: own + others }));
}

const byName = (counts: readonly LocalCount[]) =>
  [...counts].sort((a, b) => a.name.localeCompare(b.name) || a.durationMs - b.durationMs);

describePort('local counts', (setup) => {
  test("an owner's counts come back as they were saved, and nobody else's with them", async () => {
    const { localCounts } = setup().storage;
    const own = [count('a'), count('a', { durationMs: 1000 }), count('b', { count: Number.MAX_SAFE_INTEGER })];
    await localCounts.sync([...own, count('a', { owner: 'key_2' })], true);
    expect(byName(await known(setup().storage, 'key_1'))).toEqual(byName(own));
    expect(await known(setup().storage, 'key_3')).toEqual([]);
  });

  test('a count that is saved again replaces the one before', async () => {
    const { localCounts } = setup().storage;
    await localCounts.sync([count('a', { count: 5 })], true);
    await localCounts.sync([count('a', { count: 2, resetAtMs: 99 })], true);
    expect(await known(setup().storage, 'key_1')).toEqual([count('a', { count: 2, resetAtMs: 99 })]);
  });

  test('saved counts survive a reopen and an unclean end', async () => {
    await setup().storage.localCounts.sync([count('a', { count: 5 })], true);
    const copy = await setup().afterCrash();
    await setup().reopen();
    expect(await known(copy, 'key_1')).toEqual([count('a', { count: 5 })]);
    expect(await known(setup().storage, 'key_1')).toEqual([count('a', { count: 5 })]);
  });

  test('pruning removes the counts of windows that have ended, the grace after their end and not before', async () => {
    const { storage, clock } = setup();
    const many = Array.from({ length: 1200 }, (_, i) => count(`ended ${i}`));
    const later = count('later', { resetAtMs: Date.parse('2026-03-15T12:02:00Z') });
    await storage.localCounts.sync([...many, later], true);
    clock.set(Date.parse('2026-03-15T12:01:00Z') + PRUNE_GRACE_MS - 1);
    await storage.ledger.prune();
    expect((await known(storage, 'key_1')).length).toBe(1201);
    clock.advance(1);
    await storage.ledger.prune();
    expect(await known(storage, 'key_1')).toEqual([later]);
  });

  test('saving nothing is allowed', async () => {
    await setup().storage.localCounts.sync([], true);
    expect(await known(setup().storage, 'key_1')).toEqual([]);
  });
});
