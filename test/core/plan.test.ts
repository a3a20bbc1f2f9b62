import { expect, test, describe } from 'bun:test';

import * as fc from 'fast-check';

import type { RefillRule, RefillVersion } from '../../src/core/records.ts';
import { planRefill, planUntil, runningEpoch, stepAt, versionAt } from '../../src/core/plan.ts';
import { MAX_COUNT } from '../../src/core/bounds.ts';
import { daily } from './temporalCalendar.ts';
import { type AccountState, isOfAnotherEpoch, type RefillSchedule, type RefillStep } from '../../src/core/account.ts';
import { epochAt, REFILL_INTERVALS, type Schedule } from '../../src/core/calendar.ts';
import { decideSpend } from '../../src/core/spend.ts';
import { timesAsMany } from '../support/runs.ts';
import { credits, isCharge, refilled, View } from './ledgerView.ts';

const DAY_MS = 86_400_000;
const add = (amount: number): RefillRule => ({ ...daily('UTC'), mode: 'add', amount, max: null, sinceMs: 0 });
const step = (amount: number, times: number) => ({ mode: 'add', amount, max: null, times }) as const;
/** One a day from day 2 on, none from noon of day 4 on, three a day from the beginning of day 6 on. */
const VERSIONS: readonly RefillVersion[] = [
  { fromMs: 2 * DAY_MS, rule: add(1) },
  { fromMs: 4.5 * DAY_MS, rule: null },
  { fromMs: 6 * DAY_MS, rule: add(3) },
];

test('each boundary follows the rule that was in force until its instant; one at the instant of a change is of the old rule', () => {
  expect(planRefill(VERSIONS, 2 * DAY_MS, 8.5 * DAY_MS)).toEqual({
    startMs: 8 * DAY_MS,
    nextMs: 9 * DAY_MS,
    fromMs: 2 * DAY_MS,
    steps: [step(1, 2), step(3, 2)],
  });
  expect(planRefill(VERSIONS, 6 * DAY_MS, 6.5 * DAY_MS).steps).toEqual([]);
  expect(planRefill(VERSIONS, 7 * DAY_MS, 8 * DAY_MS).steps).toEqual([step(3, 1)]);
});

test('an epoch runs from the latest boundary, or where its rule began, to the next one, or where the next rule begins', () => {
  expect(runningEpoch(VERSIONS, 4 * DAY_MS)).toEqual({ startMs: 4 * DAY_MS, nextMs: 4.5 * DAY_MS });
  expect(runningEpoch(VERSIONS, 5 * DAY_MS)).toEqual({ startMs: 4.5 * DAY_MS, nextMs: 6 * DAY_MS });
  expect(runningEpoch([{ fromMs: 2.5 * DAY_MS, rule: add(1) }], 2.6 * DAY_MS).startMs).toBe(2.5 * DAY_MS);
});

test('a clock before the first rule finds that rule, and an epoch that has begun', () => {
  expect(versionAt(VERSIONS, DAY_MS)).toEqual({ fromMs: 0, rule: add(1) });
  expect(runningEpoch(VERSIONS, 1.5 * DAY_MS)).toEqual({ startMs: DAY_MS, nextMs: 2 * DAY_MS });
});

test('up to an instant, and at one', () => {
  const plan = planUntil(VERSIONS, 2 * DAY_MS, 4 * DAY_MS - 1);
  expect(plan).toEqual({ startMs: 4 * DAY_MS - 1, nextMs: MAX_COUNT, fromMs: 2 * DAY_MS, steps: [step(1, 1)] });
  expect(planUntil(null, 1, 9).steps).toEqual([]);
  expect([stepAt(VERSIONS, 3 * DAY_MS), stepAt(VERSIONS, 5 * DAY_MS)]).toEqual([[step(1, 1)], []]);
});

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const RUNS = { seed, numRuns: timesAsMany(250) };

const START_MS = Date.parse('2026-01-30T12:00:00Z');

type Refill = Pick<RefillStep, 'amount' | 'mode' | 'max'>;

/** As the engine plans it for an account with this mark. */
function planAt(schedule: Schedule, refill: Refill, { mark }: AccountState, nowMs: number): RefillSchedule {
  return planRefill({ ...schedule, ...refill, sinceMs: 0 }, mark, nowMs);
}

const schedules: fc.Arbitrary<Schedule> = fc.record({
  interval: fc.constantFrom(...REFILL_INTERVALS),
  refillDay: fc.option(fc.integer({ min: 1, max: 31 })),
  refillWeekday: fc.option(fc.integer({ min: 1, max: 7 })),
  timezone: fc.constantFrom('UTC', 'America/Havana', 'Pacific/Auckland', 'Australia/Lord_Howe'),
});

/** Hours, days or months, forward or back: the clock of a machine that sleeps, is moved and is set. */
const jumpMs = fc.oneof(
  fc.integer({ min: 0, max: 20 * 3_600_000 }),
  fc.integer({ min: -3 * DAY_MS, max: 3 * DAY_MS }),
  fc.integer({ min: 0, max: 200 * DAY_MS }),
  fc.constantFrom(-DAY_MS, DAY_MS, -40 * DAY_MS, 31 * DAY_MS, 0),
);

describe('refills', () => {
  const rules = fc.record({
    amount: fc.integer({ min: 1, max: 50 }),
    mode: fc.constantFrom('restore' as const, 'add' as const),
    max: fc.option(fc.integer({ min: 1, max: 200 })),
  });

  test('sum of taken = initial + refills - balance, whatever the clock does', () => {
    const steps = fc.array(fc.record({ jumpMs, amount: fc.nat({ max: 40 }) }), { maxLength: 30 });
    fc.assert(
      fc.property(schedules, rules, steps, (schedule, rule, taken) => {
        const view = new View();
        let nowMs = START_MS;
        view.accounts.set(1, credits(20, epochAt(schedule, nowMs).startMs));
        let [sum, refills] = [0, 0];
        for (const taking of taken) {
          nowMs += taking.jumpMs;
          const before = view.accounts.get(1) ?? credits(0);
          const plan = planAt(schedule, rule, before, nowMs);
          expect(isOfAnotherEpoch(plan, nowMs)).toBe(false);
          const gained = refilled(before, plan).value - before.value;
          const charges = [
            { account: 1, amount: taking.amount, rule: { kind: 'credits', refill: plan } as const, revision: 1 },
          ];
          // A peek is answered, and writes nothing: neither it nor the refill that it saw.
          if (!isCharge(decideSpend(view, { charges, fences: [], idempotency: null }, nowMs, 0)) || taking.amount === 0)
            continue;
          sum += taking.amount;
          refills += gained;
        }
        expect(sum).toBe(20 + refills - (view.accounts.get(1)?.value ?? 0));
      }),
      RUNS,
    );
  });

  test('each boundary counts once, by the latest instant ever seen: the order of touches and a clock set back change nothing', () => {
    fc.assert(
      fc.property(
        schedules,
        fc.integer({ min: 1, max: 50 }),
        fc.array(jumpMs, { maxLength: 30 }),
        (schedule, amount, jumps) => {
          const first = epochAt(schedule, START_MS);
          let [nowMs, latestMs, state] = [START_MS, START_MS, credits(0, first.startMs)];
          for (const jump of jumps) {
            nowMs += jump;
            latestMs = Math.max(latestMs, nowMs);
            state = refilled(state, planAt(schedule, { amount, mode: 'add', max: null }, state, nowMs));
            const latest = epochAt(schedule, latestMs);
            expect(state.mark).toBe(latest.startMs);
            expect(state.value).toBe((latest.number - first.number) * amount);
          }
        },
      ),
      RUNS,
    );
  });

  test('restore fills once per epoch: between two boundaries at most the amount can be taken, however often it is touched', () => {
    const steps = fc.array(fc.record({ jumpMs, amount: fc.nat({ max: 20 }) }), { maxLength: 40 });
    fc.assert(
      fc.property(schedules, fc.integer({ min: 1, max: 30 }), steps, (schedule, amount, touches) => {
        const view = new View();
        let nowMs = START_MS;
        view.accounts.set(1, credits(0, epochAt(schedule, nowMs).startMs));
        const takenIn = new Map<number, number>();
        for (const touch of touches) {
          nowMs += touch.jumpMs;
          const before = view.accounts.get(1) ?? credits(0);
          const refill = planAt(schedule, { amount, mode: 'restore', max: null }, before, nowMs);
          const charges = [
            { account: 1, amount: touch.amount, rule: { kind: 'credits', refill } as const, revision: 1 },
          ];
          if (!isCharge(decideSpend(view, { charges, fences: [], idempotency: null }, nowMs, 0))) continue;
          const mark = view.accounts.get(1)?.mark ?? 0;
          takenIn.set(mark, (takenIn.get(mark) ?? 0) + touch.amount);
        }
        for (const taken of takenIn.values()) expect(taken).toBeLessThanOrEqual(amount);
      }),
      RUNS,
    );
  });

  test('a long downtime ends in the same state as a touch on every day of it, in both modes', () => {
    fc.assert(
      fc.property(
        schedules,
        rules,
        fc.integer({ min: 1, max: 400 }),
        fc.nat({ max: 60 }),
        (schedule, rule, days, value) => {
          const begun = credits(value, epochAt(schedule, START_MS).startMs);
          const endMs = START_MS + days * DAY_MS;
          let byDay = begun;
          for (let day = 1; day <= days; day++)
            byDay = refilled(byDay, planAt(schedule, rule, byDay, START_MS + day * DAY_MS));
          const { value: end, mark, dueAtMs } = refilled(begun, planAt(schedule, rule, begun, endMs));
          expect([end, mark, dueAtMs]).toEqual([byDay.value, byDay.mark, byDay.dueAtMs]);
        },
      ),
      { seed, numRuns: timesAsMany(50) },
    );
  });

  test('a refill never lowers a balance and never passes the larger of balance and ceiling', () => {
    fc.assert(
      fc.property(rules, fc.maxSafeNat(), fc.nat({ max: 100_000 }), fc.boolean(), (rule, value, passed, isHuge) => {
        const amount = isHuge ? Number.MAX_SAFE_INTEGER - rule.amount : rule.amount;
        const plan = { startMs: 1, nextMs: 2, fromMs: 0, steps: [{ ...rule, amount, times: passed }] };
        const after = refilled(credits(value), plan).value;
        expect(Number.isSafeInteger(after)).toBe(true);
        expect(after).toBeGreaterThanOrEqual(value);
        const ceiling = rule.mode === 'restore' ? amount : (rule.max ?? Number.MAX_SAFE_INTEGER);
        expect(after).toBeLessThanOrEqual(Math.max(value, ceiling));
      }),
      RUNS,
    );
  });
});
