import { expect, test } from 'bun:test';

import type { DueCursor, Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { change, credits, dailyPlan, key, openCredits, spendOf, stateOf, write } from '../samples.ts';

/** A key with a counter that is next refilled at `dueAtMs`. */
async function openDue(storage: Storage, keyId: string, dueAtMs: number): Promise<number> {
  const account = await openCredits(storage, 0, { mark: 1, dueAtMs });
  await write(storage, { kind: 'insertKey', key: key(keyId, { credits: { account, refill: null } }) });
  return account;
}

async function dueOf(storage: Storage, untilMs: number): Promise<readonly string[]> {
  return (await storage.ledger.listDue(untilMs, 100, null)).map(({ owner }) => owner);
}

describePort('due refills', (setup) => {
  test('what is due is listed by due time and then by account, up to the named instant and no later', async () => {
    const accounts: Record<string, number> = {};
    for (const [keyId, dueAtMs] of [
      ['late', 300],
      ['early', 100],
      ['never', 0],
      ['middle', 200],
      ['middle too', 200],
    ] as const) {
      accounts[keyId] = await openDue(setup().storage, keyId, dueAtMs);
    }
    await setup().reopen();
    const { storage } = setup();
    expect(await storage.ledger.listDue(300, 100, null)).toEqual([
      { account: accounts['early'] ?? 0, dueAtMs: 100, owner: 'early' },
      { account: accounts['middle'] ?? 0, dueAtMs: 200, owner: 'middle' },
      { account: accounts['middle too'] ?? 0, dueAtMs: 200, owner: 'middle too' },
      { account: accounts['late'] ?? 0, dueAtMs: 300, owner: 'late' },
    ]);
    expect(await dueOf(storage, 299)).toEqual(['early', 'middle', 'middle too']);
    expect(await dueOf(storage, 99)).toEqual([]);
  });

  test('pages follow each other by their cursor with nothing twice and nothing left out', async () => {
    for (let i = 0; i < 10; i++) await openDue(setup().storage, `key_${i}`, 100 + Math.floor(i / 3));
    await setup().reopen();
    for (const limit of [1, 2, 3, 7, 10]) {
      const seen: string[] = [];
      let after: DueCursor | null = null;
      for (;;) {
        const page = await setup().storage.ledger.listDue(1000, limit, after);
        seen.push(...page.map(({ owner }) => owner));
        expect(page.length).toBeLessThanOrEqual(limit);
        if (page.length < limit) break;
        after = page.at(-1) ?? null;
      }
      expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => `key_${i}`));
    }
  });

  test('what is due is listed as soon as it was answered', async () => {
    const { storage } = setup();
    await openDue(storage, 'key_1', 100);
    expect(await dueOf(storage, 100)).toEqual(['key_1']);
  });

  test('what was written down is listed no more, from the moment it was answered', async () => {
    const { clock } = setup();
    const account = await openDue(setup().storage, 'touched', 100);
    const changed = await openDue(setup().storage, 'changed', 100);
    await openDue(setup().storage, 'untouched', 100);
    await setup().reopen();
    const { storage } = setup();
    const plan = dailyPlan(clock.nowMs(), 10, { fromMs: 1 });
    await storage.ledger.spend(spendOf(credits(account, 1, plan)));
    await storage.ledger.apply(change({ account: changed, expect: 1, refill: plan, revision: 1 }));
    expect((await stateOf(storage, account))?.dueAtMs).toBe(plan.nextMs);
    expect(await dueOf(storage, clock.nowMs())).toEqual(['untouched']);
  });

  test('a closed counter, and one that is told never to be due, are not listed', async () => {
    const [closed, retired] = [await openDue(setup().storage, 'a', 100), await openDue(setup().storage, 'b', 100)];
    await setup().storage.ledger.apply(
      change(
        { account: closed, expect: 1, close: true, refill: null, revision: 1 },
        { account: retired, expect: 1, refill: null, dueAtMs: 0, revision: 2 },
      ),
    );
    await setup().reopen();
    expect(await dueOf(setup().storage, 1000)).toEqual([]);
  });
});
