import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { AccountChange } from '../../../../src/core/accountChange.ts';
import { MAX_COUNT, MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../../src/core/bounds.ts';
import type { Charge } from '../../../../src/core/spend.ts';
import type { Change } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { ReferenceLedger } from '../reference.ts';
import { change, credits, dailyPlan, spendAll, spendOf, strict } from '../samples.ts';

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
