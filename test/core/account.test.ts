import { describe, expect, test } from 'bun:test';

import {
  type AccountState,
  isOfAnotherMark,
  isOfAnotherEpoch,
  type RefillSchedule,
  rolled,
  taken,
} from '../../src/core/account.ts';
import { MAX_COUNT } from '../../src/core/bounds.ts';
import { emptyWindow, refilled as booked } from './ledgerView.ts';
import { fits, windowEnd } from '../../src/core/calendar.ts';

/** Refilled for an epoch. */
const balance = (value: number, epoch = 10, dueAtMs = 1100): AccountState => ({
  kind: 'credits',
  value,
  mark: epoch * 100,
  dueAtMs,
  revision: 1,
  base: value,
  segmentMs: 0,
});

/** Without the statement, which accountBook.test.ts is about. */
function refilled(state: AccountState, due: RefillSchedule | null): AccountState {
  const after = booked(state, due);
  return { ...after, base: after.value, segmentMs: 0 };
}

interface Refill {
  readonly mode: 'restore' | 'add';
  readonly amount: number;
  readonly max: number | null;
}

/** Epoch n runs from n * 100 to n * 100 + 100. The plan begins at epoch 10, or at another. */
function plan(
  epoch: number,
  { mode = 'restore', amount = 50, max = null }: Partial<Refill> = {},
  from = 10,
): RefillSchedule {
  const startMs = epoch * 100;
  const steps = [{ mode, amount, max, times: Math.max(0, epoch - from) }];
  return { startMs, nextMs: startMs + 100, fromMs: from * 100, steps };
}

const add = (epoch: number, amount: number, max: number | null = null, from = 10) =>
  plan(epoch, { mode: 'add', amount, max }, from);

describe('refilled', () => {
  test('without a plan, or in the epoch that was applied, nothing changes', () => {
    const state = balance(3);
    expect(refilled(state, null)).toEqual(state);
    expect(refilled(state, plan(10))).toEqual(state);
    expect(refilled(state, plan(9))).toEqual(state);
  });

  test('restore raises to the amount once, however many epochs have passed, and never lowers', () => {
    expect(refilled(balance(3), plan(11))).toEqual(balance(50, 11, 1200));
    expect(refilled(balance(3), plan(400))).toEqual(balance(50, 400, 40_100));
    expect(refilled(balance(51), plan(11))).toEqual(balance(51, 11, 1200));
  });

  test('add gives the amount for every epoch passed', () => {
    expect(refilled(balance(3), add(11, 7))).toEqual(balance(10, 11, 1200));
    expect(refilled(balance(3), add(40, 7))).toEqual(balance(3 + 30 * 7, 40, 4100));
  });

  test('add stops at the maximum to the unit and never lowers what lies above it', () => {
    expect(refilled(balance(3), add(12, 7, 17)).value).toBe(17);
    expect(refilled(balance(3), add(12, 7, 16)).value).toBe(16);
    expect(refilled(balance(3), add(12, 7, 18)).value).toBe(17);
    expect(refilled(balance(30), add(12, 7, 20)).value).toBe(30);
    expect(refilled(balance(20), add(12, 7, 20)).value).toBe(20);
  });

  test('add stops at 2^53-1 to the unit, also where the product could not be computed', () => {
    expect(refilled(balance(MAX_COUNT), add(11, 1)).value).toBe(MAX_COUNT);
    expect(refilled(balance(MAX_COUNT - 5), add(11, 5)).value).toBe(MAX_COUNT);
    expect(refilled(balance(MAX_COUNT - 5), add(11, 4)).value).toBe(MAX_COUNT - 1);
    expect(refilled(balance(MAX_COUNT - 5), add(11, 6)).value).toBe(MAX_COUNT);
    expect(refilled(balance(1), add(20_000, MAX_COUNT)).value).toBe(MAX_COUNT);
    expect(refilled(balance(0, 0), add(3, (MAX_COUNT - 1) / 3, null, 0)).value).toBe(MAX_COUNT - 1);
  });

  test('add near the limit is what exact arithmetic gives', () => {
    for (const amount of [1, 2, 3, 5, 7, 10, 1023, 1024, 1025, 2 ** 31, 2 ** 52, MAX_COUNT - 1, MAX_COUNT]) {
      for (const passed of [1, 2, 3, 30, 365, 20_000]) {
        for (const below of [0, 1, 2, amount, amount * passed - 1, amount * passed, amount * passed + 1]) {
          const value = MAX_COUNT - below;
          if (!Number.isSafeInteger(value) || value < 0) continue;
          const exact = BigInt(value) + BigInt(amount) * BigInt(passed);
          const expected = exact > BigInt(MAX_COUNT) ? MAX_COUNT : Number(exact);
          expect(refilled(balance(value, 0), add(passed, amount, null, 0)).value).toBe(expected);
        }
      }
    }
  });

  test('a plan of an older epoch, from a clock set back, neither takes away nor gives', () => {
    const state = balance(3, 20, 2100);
    for (const mode of ['restore', 'add'] as const) expect(refilled(state, plan(19, { mode }))).toEqual(state);
  });

  test('a plan from another mark is not applied', () => {
    expect(isOfAnotherMark(plan(12, {}, 11), balance(3))).toBe(true);
    expect(() => refilled(balance(3), plan(12, {}, 11))).toThrow('the refill was planned from another mark');
    expect([plan(12), plan(10, {}, 9), null].map((each) => isOfAnotherMark(each, balance(3)))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('under a new due time the epoch that was applied is not applied again', () => {
    expect(refilled(balance(3, 10, 0), plan(10))).toEqual(balance(3, 10, 1100));
  });
});

describe('isOfAnotherEpoch', () => {
  test('a plan is good from the start of its epoch to just before the next', () => {
    expect([999, 1000, 1099, 1100].map((nowMs) => isOfAnotherEpoch(plan(10), nowMs))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(isOfAnotherEpoch(null, 5)).toBe(false);
  });
});

describe('taken', () => {
  test('credits: as much as there is and no more; 0 always; what cannot be compared is refused', () => {
    const rule = { kind: 'credits', refill: null } as const;
    expect(taken(balance(5), rule, 5)?.value).toBe(0);
    expect(taken(balance(5), rule, 6)).toBeNull();
    expect(taken(balance(0), rule, 0)?.value).toBe(0);
    expect(taken(balance(NaN), rule, 1)).toBeNull();
    expect(taken(balance(null as unknown as number), rule, 1)).toBeNull();
    expect(taken(balance(undefined as unknown as number), rule, 1)).toBeNull();
  });
});

describe('windows', () => {
  test('end at the next multiple of their duration, never now', () => {
    expect([0, 1, 999, 1000, 1001].map((nowMs) => windowEnd(nowMs, 1000))).toEqual([1000, 1000, 1000, 2000, 2000]);
    expect(windowEnd(Date.parse('2026-03-15T12:34:56Z'), 86_400_000)).toBe(Date.parse('2026-03-16T00:00:00Z'));
    expect(windowEnd(1500, 700)).toBe(2100);
  });

  test('hold up to the limit; a cost of 0 asks whether the limit is kept', () => {
    expect([fits(2, 1, 3), fits(3, 1, 3), fits(3, 0, 3), fits(4, 0, 3)]).toEqual([true, false, true, false]);
    expect(fits(MAX_COUNT, 1, MAX_COUNT)).toBe(false);
    expect(fits(MAX_COUNT, MAX_COUNT, MAX_COUNT)).toBe(false);
    expect(fits(MAX_COUNT - 1, 1, MAX_COUNT)).toBe(true);
  });

  test('roll at their end and not before; a clock set back keeps them; a new duration waits for the old end', () => {
    const window: AccountState = { ...emptyWindow(), value: 4, mark: 2000 };
    expect(rolled(window, 1000, 1999)).toBe(window);
    expect(rolled(window, 1000, 5)).toBe(window);
    expect(rolled(window, 1000, 2000)).toEqual({ ...window, value: 0, mark: 3000 });
    expect(rolled(window, 300, 1999)).toBe(window);
    expect(rolled(window, 300, 2000)).toEqual({ ...window, value: 0, mark: 2100 });
  });
});
