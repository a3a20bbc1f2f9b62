import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { describePort } from '../adapters.ts';
import {
  balanceOf,
  change,
  credits,
  openCredits,
  openStrict,
  spendOf,
  stateOf,
  strict,
  spendAll,
  dailyPlan,
} from '../samples.ts';
import type { AccountChange } from '../../../../src/core/accountChange.ts';
import { MAX_COUNT, MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../../src/core/bounds.ts';
import type { Charge } from '../../../../src/core/spend.ts';
import type { Change } from '../../../../src/storage/port/storage.ts';
import { ReferenceLedger } from '../reference.ts';

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

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const ACCOUNTS = 60;
const BATCHES = 60;

/** Small numbers that meet each other, and the largest there are. */
const count = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(MAX_COUNT, MAX_COUNT - 1));

const asked = fc.record({
  amount: count,
  limit: count,
  durationMs: fc.constantFrom(700, 1000, 86_400_000),
  refill: fc.option(
    fc.record({ amount: count, mode: fc.constantFrom('restore' as const, 'add' as const), max: fc.option(count) }),
  ),
  isOfAnotherEpoch: fc.boolean(),
  isOfAnotherRevision: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
  isOfAnotherKind: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
});

const batch = fc.record({
  moveMs: fc.constantFrom(0, 1, 650, 86_400_000, -3_000),
  spends: fc.array(asked, { minLength: ACCOUNTS, maxLength: ACCOUNTS }),
});

/** A few accounts that all are asked for: those of one account are alike, or differ in what they ask. */
const narrow = fc.record({
  moveMs: fc.constantFrom(0, 1, 650, 86_400_000, -3_000),
  spends: fc.array(
    fc.record({
      place: fc.nat({ max: 7 }),
      amount: fc.constantFrom(1, 1, 1, 1, 1, 2, MAX_COUNT),
      limit: fc.constantFrom(5, 5, 5, 5, 9),
      hasRefill: fc.boolean(),
    }),
    { minLength: 30, maxLength: ACCOUNTS },
  ),
});

/** Credits and windows in turn. */
function openingsOf(accounts: readonly number[], balance: number): Change {
  return change(
    ...accounts.map((account, i): AccountChange => {
      const open = i % 2 === 0 ? ('credits' as const) : ('window' as const);
      return { account, expect: 0, open, refill: null, set: open === 'credits' ? balance : 0, revision: 1 };
    }),
  );
}

/** What most batches look like: one charge each, every one on another account. An adapter may take them all in one go. */
describePort('wide batches', (setup) => {
  test('every answer and every state is that of the reference', async () => {
    const { storage, clock } = setup();
    const reference = new ReferenceLedger(MAX_LIVE_IDEMPOTENCY_KEYS);
    const accounts = await storage.ledger.reserveAccounts(ACCOUNTS);
    const openings = openingsOf(accounts, 10);
    reference.apply(openings, clock.nowMs());
    await storage.ledger.apply(openings);
    await fc.assert(
      fc.asyncProperty(batch, async ({ moveMs, spends }) => {
        clock.advance(moveMs);
        const nowMs = clock.nowMs();
        const wide = spends.map((each, i) => {
          const isCredits = (i % 2 === 0) !== each.isOfAnotherKind;
          const { refill } = each;
          const plan =
            refill === null || refill.amount === 0
              ? null
              : dailyPlan(nowMs - (each.isOfAnotherEpoch ? 86_400_000 : 0), refill.amount, {
                  ...refill,
                  fromMs: reference.accounts.get(accounts[i] ?? 0)?.mark ?? 0,
                });
          const revision = each.isOfAnotherRevision ? 2 : 1;
          const charge: Charge = isCredits
            ? credits(accounts[i] ?? 0, each.amount, plan, revision)
            : strict(accounts[i] ?? 0, each.amount, each.limit, each.durationMs, revision);
          return spendOf(charge);
        });
        const expected = wide.map((spend) => reference.spend(spend, nowMs));
        expect(await spendAll(storage.ledger, wide)).toEqual(expected);
        expect(await storage.ledger.read(accounts)).toEqual(accounts.map((account) => reference.accounts.get(account)));
      }),
      { seed, numRuns: BATCHES, endOnFailure: true },
    );
  });

  test('many of one account: each sees what the ones before it left', async () => {
    const { storage, clock } = setup();
    const reference = new ReferenceLedger(MAX_LIVE_IDEMPOTENCY_KEYS);
    const accounts = await storage.ledger.reserveAccounts(8);
    const openings = openingsOf(accounts, 40);
    reference.apply(openings, clock.nowMs());
    await storage.ledger.apply(openings);
    await fc.assert(
      fc.asyncProperty(narrow, async ({ moveMs, spends }) => {
        clock.advance(moveMs);
        const nowMs = clock.nowMs();
        const many = spends.map(({ place, amount, limit, hasRefill }) => {
          const account = accounts[place] ?? 0;
          if (place % 2 === 1) return spendOf(strict(account, amount, limit, 1000, 1));
          const plan = place % 4 === 2 && hasRefill ? dailyPlan(nowMs, 12, { mode: 'restore', max: null }) : null;
          return spendOf(credits(account, amount, plan, 1));
        });
        const expected = many.map((spend) => reference.spend(spend, nowMs));
        expect(await spendAll(storage.ledger, many)).toEqual(expected);
        expect(await storage.ledger.read(accounts)).toEqual(accounts.map((account) => reference.accounts.get(account)));
      }),
      { seed, numRuns: BATCHES, endOnFailure: true },
    );
  });
});
