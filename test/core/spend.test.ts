import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { decideSpend, type Spend, type SpendOutcome } from '../../src/core/spend.ts';
import { emptyWindow, credits, isCharge, View } from './ledgerView.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const RUNS = { seed, numRuns: 1_000 };
const START_MS = Date.parse('2026-01-30T12:00:00Z');

const charge = fc.record({
  account: fc.integer({ min: 1, max: 3 }),
  amount: fc.nat({ max: 6 }),
  isWrong: fc.nat({ max: 30 }).map((n) => n === 0),
});

const spends: fc.Arbitrary<Spend[]> = fc.array(
  fc.record({
    charges: fc.array(charge, { minLength: 1, maxLength: 4 }).map((charges) =>
      charges.map(({ account, amount, isWrong }) => ({
        account,
        amount,
        // Account 3 is a window.
        rule:
          account === 3
            ? ({ kind: 'window', limit: 20, durationMs: 1_000 } as const)
            : ({ kind: 'credits', refill: null } as const),
        revision: isWrong ? 2 : 1,
      })),
    ),
    fences: fc.constant([]),
    idempotency: fc.option(
      fc.record({
        scope: fc.constantFrom('a', 'b'),
        id: fc.constantFrom('x', 'y'),
        requestDigest: fc.constantFrom('1', '2'),
      }),
    ),
  }),
  { maxLength: 20 },
);

function fresh(): View {
  const view = new View();
  view.accounts.set(1, credits(30));
  view.accounts.set(2, credits(10));
  view.accounts.set(3, emptyWindow());
  return view;
}

const amountOf = (spend: Spend, account: number) =>
  spend.charges.filter((each) => each.account === account).reduce((sum, { amount }) => sum + amount, 0);

describe('spends', () => {
  test('what was taken and what is left add up to what there was, for every account, and nothing is negative', () => {
    fc.assert(
      fc.property(spends, (given) => {
        const view = fresh();
        const charged = given.filter((spend) => isCharge(decideSpend(view, spend, START_MS, 3)));
        const sum = (account: number) => charged.reduce((total, spend) => total + amountOf(spend, account), 0);
        expect(view.accounts.get(1)?.value).toBe(30 - sum(1));
        expect(view.accounts.get(2)?.value).toBe(10 - sum(2));
        expect(view.accounts.get(3)?.value).toBe(sum(3));
        for (const { value } of view.accounts.values()) expect(value).toBeGreaterThanOrEqual(0);
        expect(view.accounts.get(3)?.value).toBeLessThanOrEqual(20);
      }),
      RUNS,
    );
  });

  test('a spend that is not charged writes nothing: refused, stale, in conflict, crowded or replayed', () => {
    fc.assert(
      fc.property(spends, (given) => {
        const view = fresh();
        for (const spend of given) {
          const before = view.clone();
          const outcome = decideSpend(view, spend, START_MS, 2);
          if (isCharge(outcome)) continue;
          expect(view.accounts).toEqual(before.accounts);
          expect(view.remembered).toEqual(before.remembered);
        }
      }),
      RUNS,
    );
  });

  test('a spend is refused exactly when one of its accounts has less than all its charges ask of it', () => {
    fc.assert(
      fc.property(spends, (given) => {
        const view = fresh();
        for (const spend of given) {
          const has = (id: number) =>
            id === 3 ? 20 - (view.accounts.get(3)?.value ?? 0) : (view.accounts.get(id)?.value ?? 0);
          const isEnough = [1, 2, 3].every((id) => amountOf(spend, id) <= has(id));
          const { status } = decideSpend(view, { ...spend, idempotency: null }, START_MS, 2);
          if (status !== 'stale') expect(status).toBe(isEnough ? 'taken' : 'refused');
        }
      }),
      RUNS,
    );
  });

  test('cut into batches, each decided on a copy that is taken over at its end, they come out as one by one', () => {
    fc.assert(
      fc.property(spends, fc.integer({ min: 1, max: 7 }), (given, size) => {
        const single = fresh();
        const expected = given.map((spend) => decideSpend(single, spend, START_MS, 3));
        let committed = fresh();
        const outcomes: SpendOutcome[] = [];
        for (let i = 0; i < given.length; i += size) {
          const batch = committed.clone();
          for (const spend of given.slice(i, i + size)) outcomes.push(decideSpend(batch, spend, START_MS, 3));
          committed = batch;
        }
        expect(outcomes).toEqual(expected);
        expect(committed).toEqual(single);
      }),
      RUNS,
    );
  });

  test('the same idempotency key is charged once at the most, and every replay is the first answer', () => {
    fc.assert(
      fc.property(spends, (given) => {
        const view = fresh();
        const first = new Map<string, SpendOutcome>();
        for (const spend of given) {
          const outcome = decideSpend(view, spend, START_MS, 10);
          if (spend.idempotency === null || outcome.status !== 'taken') continue;
          const { scope, id, requestDigest } = spend.idempotency;
          const name = `${scope}/${id}/${requestDigest}`;
          if (outcome.replayed) expect({ ...outcome, replayed: false }).toEqual(first.get(name) as never);
          else if (spend.charges.some(({ amount }) => amount > 0)) {
            expect([...first.keys()].some((known) => known.startsWith(`${scope}/${id}/`))).toBe(false);
            first.set(name, outcome);
          }
        }
      }),
      RUNS,
    );
  });
});
