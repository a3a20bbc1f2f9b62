import { expect, test } from 'bun:test';

import type { RefillSchedule } from '../../../../src/core/account.ts';
import { describePort, type Setup } from '../adapters.ts';
import { change, credits, dailyPlan, openCredits, spendOf, stateOf, spendAll, key, write } from '../samples.ts';
import type { DueCursor, Storage } from '../../../../src/storage/port/storage.ts';

const DAY_MS = 86_400_000;

/** A counter whose rule begins now: the running epoch counts as applied. */
function openRefilled({ storage, clock }: Setup, balance: number): Promise<number> {
  const plan = dailyPlan(clock.nowMs(), 1);
  return openCredits(storage, balance, { mark: plan.startMs, dueAtMs: plan.nextMs });
}

describePort('refills', (setup) => {
  test('a new rule refills nothing at once; from the instant of the boundary the counter is full', async () => {
    const { storage, clock } = setup();
    const account = await openRefilled(setup(), 2);
    const peek = () => storage.ledger.spend(spendOf(credits(account, 0, dailyPlan(clock.nowMs(), 10))));
    const midnightMs = clock.nowMs() + DAY_MS / 2;
    expect(await peek()).toMatchObject({ charges: [{ left: 2, resetAtMs: midnightMs }] });
    clock.set(midnightMs - 1);
    expect(await peek()).toMatchObject({ charges: [{ left: 2 }] });
    clock.set(midnightMs);
    expect(await peek()).toMatchObject({ charges: [{ left: 10, resetAtMs: midnightMs + DAY_MS }] });
  });

  test('a plan for another epoch than the one that runs is stale, at both edges to the millisecond', async () => {
    const { storage, clock } = setup();
    const account = await openRefilled(setup(), 2);
    const plan = dailyPlan(clock.nowMs(), 10);
    const spendAt = async (nowMs: number) => {
      clock.set(nowMs);
      return (await storage.ledger.spend(spendOf(credits(account, 0, plan)))).status;
    };
    expect(await spendAt(plan.startMs - 1)).toBe('stale');
    expect(await spendAt(plan.startMs)).toBe('taken');
    expect(await spendAt(plan.nextMs - 1)).toBe('taken');
    expect(await spendAt(plan.nextMs)).toBe('stale');
    const touch = change({ account, expect: 1, refill: plan, add: 5, revision: 1 });
    expect((await storage.ledger.apply(touch)).status).toBe('stale');
    expect((await stateOf(storage, account))?.value).toBe(2);
  });

  test('restore raises to the amount after any number of days, once, and never lowers', async () => {
    const { storage, clock } = setup();
    const [low, high] = [await openRefilled(setup(), 1), await openRefilled(setup(), 50)];
    const fromMs = dailyPlan(clock.nowMs(), 1).startMs;
    clock.advance(100 * DAY_MS);
    const take = () => storage.ledger.spend(spendOf(...[low, high].map((each) => credits(each, 1, plan()))));
    const plan = () => dailyPlan(clock.nowMs(), 10, { fromMs });
    expect(await take()).toMatchObject({ charges: [{ left: 9 }, { left: 49 }] });
    expect(await take()).toMatchObject({ charges: [{ left: 8 }, { left: 48 }] });
    const { startMs, nextMs } = plan();
    expect(await stateOf(storage, low)).toEqual({
      kind: 'credits',
      value: 8,
      mark: startMs,
      dueAtMs: nextMs,
      revision: 1,
      base: 10,
      segmentMs: startMs,
    });
  });

  test('add gives the amount for every boundary passed, up to the maximum, and never lowers what is above it', async () => {
    const { storage, clock } = setup();
    const [free, capped, above] = [
      await openRefilled(setup(), 5),
      await openRefilled(setup(), 5),
      await openRefilled(setup(), 40),
    ];
    const fromMs = dailyPlan(clock.nowMs(), 1).startMs;
    clock.advance(3 * DAY_MS);
    const charges = (max: number | null, account: number) =>
      credits(account, 0, dailyPlan(clock.nowMs(), 10, { mode: 'add', max, fromMs }));
    const touch = () => storage.ledger.spend(spendOf(charges(null, free), charges(20, capped), charges(20, above)));
    expect(await touch()).toMatchObject({ charges: [{ left: 35 }, { left: 20 }, { left: 40 }] });
    expect(await touch()).toMatchObject({ charges: [{ left: 35 }, { left: 20 }, { left: 40 }] });
    clock.advance(DAY_MS);
    expect(await touch()).toMatchObject({ charges: [{ left: 45 }, { left: 20 }, { left: 40 }] });
  });

  test('a refused spend does not keep the refill from the next one', async () => {
    const { storage, clock } = setup();
    const account = await openRefilled(setup(), 0);
    clock.advance(DAY_MS);
    const spend = (amount: number) => spendOf(credits(account, amount, dailyPlan(clock.nowMs(), 10)));
    const outcomes = await spendAll(storage.ledger, [spend(11), spend(10), spend(1)]);
    expect(outcomes).toMatchObject([
      { status: 'refused', charges: [{ left: 10 }] },
      { status: 'taken', charges: [{ left: 0 }] },
      { status: 'refused', charges: [{ left: 0 }] },
    ]);
  });

  test('many that cross the boundary together cause one refill', async () => {
    const { storage, clock } = setup();
    const account = await openRefilled(setup(), 0);
    clock.advance(DAY_MS / 2);
    const plan = dailyPlan(clock.nowMs(), 100);
    const outcomes = await spendAll(
      storage.ledger,
      Array.from({ length: 1000 }, () => spendOf(credits(account, 1, plan))),
    );
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(100);
  });

  test('a clock set back gives no second refill, neither then nor when it comes forward again', async () => {
    for (const mode of ['restore', 'add'] as const) {
      const { storage, clock } = setup();
      clock.set('2026-03-15T12:00:00Z');
      const account = await openRefilled(setup(), 0);
      const take = (amount: number) =>
        storage.ledger.spend(spendOf(credits(account, amount, dailyPlan(clock.nowMs(), 10, { mode }))));
      clock.set('2026-03-16T00:00:00Z');
      expect(await take(10)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
      clock.set('2026-03-14T23:00:00Z');
      expect(await take(1)).toMatchObject({ status: 'refused', charges: [{ left: 0 }] });
      clock.set('2026-03-16T00:00:00Z');
      expect(await take(1)).toMatchObject({ status: 'refused', charges: [{ left: 0 }] });
      clock.set('2026-03-17T00:00:00Z');
      expect(await take(1)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
    }
  });

  test('a schedule from another mark is answered with the mark, to a spend and to a change; one from that mark is taken', async () => {
    const { storage, clock } = setup();
    const [first, second] = [await openRefilled(setup(), 7), await openRefilled(setup(), 1)];
    const fromMs = dailyPlan(clock.nowMs(), 1).startMs;
    clock.advance(3 * DAY_MS);
    const nowMs = clock.nowMs();
    const [usual, planned] = [dailyPlan(nowMs, 10), dailyPlan(nowMs, 10, { fromMs })];
    const otherMark = { status: 'otherMark', nowMs, mark: { account: second, markMs: fromMs } } as const;
    const spend = (plan: RefillSchedule) => storage.ledger.spend(spendOf(credits(first, 1), credits(second, 1, plan)));
    expect(await spend(usual)).toEqual(otherMark);
    const touch = (plan: RefillSchedule) => change({ account: second, expect: 1, refill: plan, revision: 1 });
    expect(await storage.ledger.apply(touch(usual))).toEqual(otherMark);
    expect([await stateOf(storage, first), await stateOf(storage, second)]).toMatchObject([{ value: 7 }, { value: 1 }]);
    expect(await spend(planned)).toMatchObject({ status: 'taken', charges: [{ left: 6 }, { left: 9 }] });
    // The mark is now that of the running epoch: every plan of it fits.
    expect(await spend(usual)).toMatchObject({ status: 'taken', charges: [{ left: 5 }, { left: 8 }] });
    expect((await storage.ledger.apply(touch(usual))).status).toBe('done');
  });

  test('boundaries of several rules are applied in their order', async () => {
    const { storage, clock } = setup();
    const fromMs = dailyPlan(clock.nowMs(), 1).startMs;
    const steps = [
      { mode: 'add', amount: 4, max: 10, times: 2 },
      { mode: 'restore', amount: 9, max: null, times: 0 },
      { mode: 'restore', amount: 12, max: null, times: 3 },
      { mode: 'add', amount: 5, max: null, times: 2 },
    ] as const;
    clock.advance(8 * DAY_MS);
    const plan = (count: number) => ({ ...dailyPlan(clock.nowMs(), 1, { fromMs }), steps: steps.slice(0, count) });
    const after = await Promise.all(
      [0, 1, 2, 3, 4].map(async (count) => {
        const account = await openCredits(storage, 3, { mark: fromMs, dueAtMs: fromMs + DAY_MS });
        const outcome = await storage.ledger.spend(spendOf(credits(account, 1, plan(count))));
        return outcome.status === 'taken' ? outcome.charges[0]?.left : outcome;
      }),
    );
    expect(after).toEqual([2, 9, 9, 11, 21]);
  });

  test('a change applies what has passed under the old rule before it sets the new one', async () => {
    const { storage, clock } = setup();
    const account = await openRefilled(setup(), 1);
    clock.advance(DAY_MS);
    const old = dailyPlan(clock.nowMs(), 10);
    const outcome = await storage.ledger.apply(
      change({ account, expect: 1, refill: old, add: 5, mark: 674, dueAtMs: 99, revision: 2 }),
    );
    const segmentMs = clock.nowMs();
    const state = { kind: 'credits', value: 15, mark: 674, dueAtMs: 99, revision: 2, base: 15, segmentMs } as const;
    expect(outcome).toEqual({ status: 'done', accounts: [state], nowMs: clock.nowMs() });
    expect(await stateOf(storage, account)).toEqual(state);
  });
});

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
