import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { balanceOf, change, credits, openCredits, openStrict, spendOf, stateOf, strict, spendAll } from '../samples.ts';

const codes = (outcomes: readonly { status: string }[]) => outcomes.map(({ status }) => status);

describePort('spends', (setup) => {
  test('a charge that fits is taken, and what is left is told with the time of the ledger', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 10);
    expect(await storage.ledger.spend(spendOf(credits(account, 3)))).toEqual({
      status: 'taken',
      charges: [{ left: 7, resetAtMs: 0 }],
      nowMs: clock.nowMs(),
      replayed: false,
    });
    expect(await balanceOf(storage, account)).toBe(7);
    expect(storage.ledger.nowMs()).toBe(clock.nowMs());
  });

  test('exactly what is left passes, one more is refused and takes nothing', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 5);
    expect(await storage.ledger.spend(spendOf(credits(account, 6)))).toEqual({
      status: 'refused',
      by: 0,
      charges: [{ left: 5, resetAtMs: 0 }],
      nowMs: clock.nowMs(),
    });
    expect(await storage.ledger.spend(spendOf(credits(account, 5)))).toMatchObject({ charges: [{ left: 0 }] });
    expect((await storage.ledger.spend(spendOf(credits(account, 1)))).status).toBe('refused');
    expect((await storage.ledger.spend(spendOf(credits(account, 0)))).status).toBe('taken');
    expect(await balanceOf(storage, account)).toBe(0);
  });

  test('several charges are taken together or not at all, and the first that does not suffice is named', async () => {
    const { storage, clock } = setup();
    const [window, first, second] = [
      await openStrict(storage),
      await openCredits(storage, 5),
      await openCredits(storage, 1),
    ];
    const charges = (amount: number) => spendOf(strict(window, 1, 2), credits(first, 1), credits(second, amount));
    const resetAtMs = clock.nowMs() + 60_000;
    expect(await storage.ledger.spend(charges(2))).toEqual({
      status: 'refused',
      by: 2,
      charges: [
        { left: 2, resetAtMs },
        { left: 5, resetAtMs: 0 },
        { left: 1, resetAtMs: 0 },
      ],
      nowMs: clock.nowMs(),
    });
    expect(await stateOf(storage, window)).toMatchObject({
      kind: 'window',
      value: 0,
      mark: 0,
      dueAtMs: 0,
      revision: 1,
    });
    expect([await balanceOf(storage, first), await balanceOf(storage, second)]).toEqual([5, 1]);
    expect(await storage.ledger.spend(charges(1))).toMatchObject({ charges: [{ left: 1 }, { left: 4 }, { left: 0 }] });
    const tooMuch = spendOf(strict(window, 5, 2), credits(first, 100));
    expect(await storage.ledger.spend(tooMuch)).toMatchObject({ status: 'refused', by: 0 });
  });

  test('a refused spend does not affect the next of its batch', async () => {
    const { storage } = setup();
    const [one, two] = [await openCredits(storage, 3), await openCredits(storage, 1)];
    const outcomes = await spendAll(storage.ledger, [
      spendOf(credits(one, 1), credits(two, 1)),
      spendOf(credits(one, 1), credits(two, 1)),
      spendOf(credits(one, 3)),
      spendOf(credits(one, 2)),
      spendOf(credits(one, 1)),
    ]);
    expect(codes(outcomes)).toEqual(['taken', 'refused', 'refused', 'taken', 'refused']);
    expect([await balanceOf(storage, one), await balanceOf(storage, two)]).toEqual([0, 0]);
  });

  test('one account several times in a batch: each spend sees what the one before it left', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    const outcomes = await spendAll(
      storage.ledger,
      Array.from({ length: 150 }, () => spendOf(credits(account, 1))),
    );
    expect(codes(outcomes)).toEqual(Array.from({ length: 150 }, (_, i) => (i < 100 ? 'taken' : 'refused')));
    const balances = outcomes.map((outcome) => ('charges' in outcome ? outcome.charges[0]?.left : null));
    expect(balances).toEqual(Array.from({ length: 150 }, (_, i) => Math.max(0, 99 - i)));
    expect(await balanceOf(storage, account)).toBe(0);
  });

  test('one account twice in a spend is taken from twice, or not at all', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const window = await openStrict(storage);
    expect(await storage.ledger.spend(spendOf(credits(account, 4), credits(account, 7)))).toMatchObject({
      status: 'refused',
      by: 1,
    });
    expect(await balanceOf(storage, account)).toBe(10);
    expect(await storage.ledger.spend(spendOf(credits(account, 4), credits(account, 6)))).toMatchObject({
      charges: [{ left: 6 }, { left: 0 }],
    });
    expect(await storage.ledger.spend(spendOf(strict(window, 2, 3), strict(window, 2, 3)))).toMatchObject({ by: 1 });
    expect(await storage.ledger.spend(spendOf(strict(window, 2, 3), strict(window, 1, 3)))).toMatchObject({
      status: 'taken',
    });
    expect([await balanceOf(storage, account), await balanceOf(storage, window)]).toEqual([0, 3]);
  });

  test('more spends than one batch holds are all answered, in order, to the unit', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 5000);
    const outcomes = await spendAll(
      storage.ledger,
      Array.from({ length: 5001 }, () => spendOf(credits(account, 1))),
    );
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(5000);
    expect(outcomes.at(-1)?.status).toBe('refused');
    expect(outcomes[4999]).toMatchObject({ charges: [{ left: 0 }] });
  });

  test('a spend decided under another revision is stale and takes nothing of any charge', async () => {
    const { storage, clock } = setup();
    const [account, other] = [await openCredits(storage, 5), await openCredits(storage, 5)];
    for (const revision of [0, 2]) {
      const spend = spendOf(credits(other, 1), credits(account, 1, null, revision));
      expect(await storage.ledger.spend(spend)).toEqual({ status: 'stale', nowMs: clock.nowMs(), fence: null });
    }
    await storage.ledger.apply(change({ account, expect: 1, refill: null, revision: 2 }));
    expect((await storage.ledger.spend(spendOf(credits(account, 1)))).status).toBe('stale');
    expect((await storage.ledger.spend(spendOf(credits(account, 1, null, 2)))).status).toBe('taken');
    expect([await balanceOf(storage, account), await balanceOf(storage, other)]).toEqual([4, 5]);
  });

  test('a change and the spends before and after it in one batch: revocation holds from its place on', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 5);
    const before = storage.ledger.spend(spendOf(credits(account, 1)));
    const revoked = storage.ledger.apply(change({ account, expect: 1, refill: null, revision: 2 }));
    const after = storage.ledger.spend(spendOf(credits(account, 1)));
    const outcomes = await Promise.all([before, revoked, after]);
    expect(codes(outcomes)).toEqual(['taken', 'done', 'stale']);
    expect(await balanceOf(storage, account)).toBe(4);
  });

  test('an account that does not exist, or is of the other kind, is stale', async () => {
    const { storage, clock } = setup();
    const [account, window] = [await openCredits(storage, 5), await openStrict(storage)];
    const stale = { status: 'stale', nowMs: clock.nowMs(), fence: null } as const;
    expect(await storage.ledger.spend(spendOf(credits(account, 1), credits(999_999, 0)))).toEqual(stale);
    expect(await storage.ledger.spend(spendOf(strict(account, 1, 10)))).toEqual(stale);
    expect(await storage.ledger.spend(spendOf(credits(window, 0)))).toEqual(stale);
    expect(await balanceOf(storage, account)).toBe(5);
    expect(await stateOf(storage, 999_999)).toBeUndefined();
    expect(storage.ledger.peek(999_999)).toBeUndefined();
  });

  test('the largest balance is kept to the unit', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, Number.MAX_SAFE_INTEGER);
    await storage.ledger.spend(spendOf(credits(account, 1)));
    await setup().reopen();
    expect(await balanceOf(setup().storage, account)).toBe(Number.MAX_SAFE_INTEGER - 1);
    const rest = spendOf(credits(account, Number.MAX_SAFE_INTEGER - 1));
    expect(await setup().storage.ledger.spend(rest)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
  });

  test("submitted spends are answered in their order; what is done with an answer, and fails, is nobody else's trouble", async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 5);
    const seen: string[] = [];
    const take = (name: string) => storage.ledger.spend(spendOf(credits(account, 1))).then(() => seen.push(name));
    const failing = storage.ledger.spend(spendOf(credits(account, 1))).then(() => {
      seen.push('b');
      throw new Error('no');
    });
    const answers = [take('a'), failing, take('c')];
    expect((await Promise.allSettled(answers)).map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(seen.toSorted()).toEqual(['a', 'b', 'c']);
    expect(await balanceOf(storage, account)).toBe(2);
  });

  test('between a spend and the next one that its answer has brought, others have their turn', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    const again = async (left: number): Promise<void> => {
      await storage.ledger.spend(spendOf(credits(account, 1))).then(() => (left > 1 ? again(left - 1) : undefined));
    };
    setImmediate(turn);
    await again(20);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(19);
    expect(await balanceOf(storage, account)).toBe(80);
  });
});
