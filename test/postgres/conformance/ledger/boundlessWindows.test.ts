import { expect, test } from 'bun:test';

import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../../../src/core/bounds.ts';
import { PRUNE_GRACE_MS, type Storage, type WindowCursor } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { spendOf, strict } from '../samples.ts';

const MINUTE_MS = 60_000;

const open = (storage: Storage, name: string, max: number | null, owner = 'ns_1') =>
  storage.ledger.openWindow({ owner, name, durationMs: MINUTE_MS }, max);

const take = (storage: Storage, account: number | null) =>
  storage.ledger.spend(spendOf(strict(account ?? 0, 1, 10, MINUTE_MS, 0)));

describePort('windows of an owner without a bound, and their count', (setup) => {
  test('without a maximum an owner opens as many as it likes, each a window of its own', async () => {
    const { storage } = setup();
    const names = Array.from({ length: 3 * MAX_ADHOC_LIMITS_PER_OWNER }, (_, i) => `user ${i}`);
    const accounts = await Promise.all(names.map((name) => open(storage, name, null)));
    expect(new Set(accounts).size).toBe(names.length);
    expect(accounts).not.toContain(null);
    const outcomes = await Promise.all(accounts.map((account) => take(storage, account)));
    expect(outcomes.every((outcome) => outcome.status === 'taken' && outcome.charges[0]?.left === 9)).toBe(true);
    expect(await Promise.all(names.map((name) => open(storage, name, null)))).toEqual(accounts);
  });

  test('the maximum is that of the call: what was opened without one counts against one that has it', async () => {
    const { storage } = setup();
    for (const name of ['a', 'b', 'c']) await open(storage, name, null);
    expect(await open(storage, 'd', 3)).toBeNull();
    expect(await open(storage, 'a', 3)).not.toBeNull();
    expect(await open(storage, 'd', 4)).not.toBeNull();
    expect(await open(storage, 'e', null)).not.toBeNull();
  });

  test('the windows of an owner are counted, no further than asked, also after a reopen', async () => {
    for (const name of ['a', 'b', 'c']) await open(setup().storage, name, null);
    await open(setup().storage, 'a', null, 'ns_2');
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { ledger } = setup().storage;
      const counted = await Promise.all([0, 1, 3, 4, 100].map((upTo) => ledger.countWindows('ns_1', upTo)));
      expect(counted).toEqual([0, 1, 3, 3, 3]);
      expect([await ledger.countWindows('ns_2', 9), await ledger.countWindows('ns_3', 9)]).toEqual([1, 0]);
    }
  });

  test('ended windows of an owner are closed at the millisecond of their end, and no others', async () => {
    const { storage, clock } = setup();
    const { ledger } = storage;
    const accounts = await Promise.all(['a', 'b', 'c'].map((name) => open(storage, name, null)));
    await open(storage, 'a', null, 'ns_2');
    clock.advance(MINUTE_MS - 1);
    expect(await ledger.closeEndedWindows('ns_1', 10, null)).toEqual({ looked: 3, closed: 0, last: null });
    clock.advance(1);
    await take(storage, accounts[1] ?? null);
    expect(await ledger.closeEndedWindows('ns_1', 10, null)).toEqual({ looked: 3, closed: 2, last: null });
    expect([await ledger.countWindows('ns_1', 9), await ledger.countWindows('ns_2', 9)]).toEqual([1, 1]);
    const statuses = await Promise.all(accounts.map(async (account) => (await take(storage, account)).status));
    expect(statuses).toEqual(['stale', 'taken', 'stale']);
    expect(await open(storage, 'b', 0)).toBe(accounts[1] as number);
    expect(await open(storage, 'a', null)).not.toBe(accounts[0] as number);
    await setup().reopen();
    expect(await setup().storage.ledger.countWindows('ns_1', 9)).toBe(2);
  });

  test('closing looks at so many and goes on after a place, in the order of name and duration', async () => {
    const { storage, clock } = setup();
    const { ledger } = storage;
    for (const name of ['c', 'a', 'é', 'b']) await open(storage, name, null);
    await ledger.openWindow({ owner: 'ns_1', name: 'a', durationMs: MINUTE_MS / 2 }, null);
    clock.advance(MINUTE_MS);
    const close = (after: WindowCursor | null) => ledger.closeEndedWindows('ns_1', 2, after);
    const first = { name: 'a', durationMs: MINUTE_MS };
    expect(await close(first)).toEqual({ looked: 2, closed: 2, last: { name: 'c', durationMs: MINUTE_MS } });
    expect(await close(null)).toEqual({ looked: 2, closed: 2, last: first });
    expect(await close(first)).toEqual({ looked: 1, closed: 1, last: null });
    expect(await close(first)).toEqual({ looked: 0, closed: 0, last: null });
    expect(await ledger.countWindows('ns_1', 9)).toBe(0);
  });

  test('of several that close at the same time each window is closed by one', async () => {
    const { storage, clock } = setup();
    const names = Array.from({ length: 1200 }, (_, i) => `user ${i}`);
    // In parts: a slow database would not begin all of them in time.
    for (let i = 0; i < names.length; i += 100) {
      await Promise.all(names.slice(i, i + 100).map((name) => open(storage, name, null)));
    }
    clock.advance(MINUTE_MS);
    const steps = await Promise.all(
      Array.from({ length: 8 }, () => storage.ledger.closeEndedWindows('ns_1', 2000, null)),
    );
    const left = await storage.ledger.countWindows('ns_1', 2000);
    expect(steps.reduce((sum, { closed }) => sum + closed, 0)).toBe(names.length - left);
    await storage.ledger.closeEndedWindows('ns_1', 2000, null);
    expect(await storage.ledger.countWindows('ns_1', 2000)).toBe(0);
  });

  test('an ended window is counted until it is pruned', async () => {
    const { storage, clock } = setup();
    await open(storage, 'a', null);
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    await open(storage, 'b', null);
    expect(await storage.ledger.countWindows('ns_1', 9)).toBe(2);
    await storage.ledger.prune();
    expect(await storage.ledger.countWindows('ns_1', 9)).toBe(1);
  });
});
