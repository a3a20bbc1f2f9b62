import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { openStrict, spendOf, stateOf, strict, spendAll } from '../samples.ts';
import { type LocalCount, PRUNE_GRACE_MS, type Storage } from '../../../../src/storage/port/storage.ts';

describePort('strict windows', (setup) => {
  test('the spend after the limit is refused until the window rolls, to the millisecond', async () => {
    const { storage, clock } = setup();
    clock.set(120_000 + 59_000);
    const account = await openStrict(storage);
    const take = () => storage.ledger.spend(spendOf(strict(account, 1, 2)));
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 1, resetAtMs: 180_000 }] });
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 0, resetAtMs: 180_000 }] });
    expect(await take()).toMatchObject({ status: 'refused', charges: [{ left: 0, resetAtMs: 180_000 }] });
    clock.set(179_999);
    expect((await take()).status).toBe('refused');
    clock.set(180_000);
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 1, resetAtMs: 240_000 }] });
  });

  test('a clock set back keeps the window and its count', async () => {
    const { storage, clock } = setup();
    clock.set(600_000);
    const account = await openStrict(storage);
    const take = () => storage.ledger.spend(spendOf(strict(account, 1, 1)));
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ resetAtMs: 660_000 }] });
    for (const nowMs of [540_000, 1, 659_999]) {
      clock.set(nowMs);
      expect(await take()).toMatchObject({ status: 'refused', charges: [{ resetAtMs: 660_000 }] });
    }
    clock.set(660_000);
    expect((await take()).status).toBe('taken');
  });

  test('a raised limit keeps the running count; a lowered one leaves nothing and refuses even a cost of 0', async () => {
    const { storage } = setup();
    const account = await openStrict(storage);
    const take = (amount: number, limit: number) => storage.ledger.spend(spendOf(strict(account, amount, limit)));
    expect(await take(3, 3)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
    expect(await take(0, 3)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
    expect(await take(1, 5)).toMatchObject({ status: 'taken', charges: [{ left: 1 }] });
    expect(await take(0, 2)).toMatchObject({ status: 'refused', charges: [{ left: 0 }] });
    expect((await stateOf(storage, account))?.value).toBe(4);
  });

  test('a cost above the limit is refused in an empty window and leaves it empty', async () => {
    const { storage, clock } = setup();
    const account = await openStrict(storage);
    const outcome = await storage.ledger.spend(spendOf(strict(account, Number.MAX_SAFE_INTEGER, 5)));
    expect(outcome).toMatchObject({ status: 'refused', charges: [{ left: 5, resetAtMs: clock.nowMs() + 60_000 }] });
    expect((await storage.ledger.spend(spendOf(strict(account, 5, 5)))).status).toBe('taken');
  });

  test('a thousand at once in two windows: the limit in each, never one more', async () => {
    const { storage, clock } = setup();
    const account = await openStrict(storage);
    const burst = async () => {
      const all = Array.from({ length: 1000 }, () => spendOf(strict(account, 1, 70)));
      return (await spendAll(storage.ledger, all)).filter(({ status }) => status === 'taken').length;
    };
    expect(await burst()).toBe(70);
    clock.advance(60_000);
    expect(await burst()).toBe(70);
    clock.advance(-60_000);
    expect(await burst()).toBe(0);
  });
});

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
