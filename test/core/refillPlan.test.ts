import { expect, test } from 'bun:test';

import type { RefillRule, RefillVersion } from '../../src/core/records.ts';
import { planRefill, planUntil, runningEpoch, stepAt, versionAt } from '../../src/core/plan.ts';
import { MAX_COUNT } from '../../src/core/bounds.ts';
import { daily } from './calendar/temporalCalendar.ts';

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
