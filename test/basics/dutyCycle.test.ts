import { describe, expect, test } from 'bun:test';

import { DutyCycle, type DutyRule, restMs } from '../../src/basics/dutyCycle.ts';

const RULE: DutyRule = { rest: 9, minRest: 1, cycleMs: 2_000, patienceMs: 40_000 };

/** How long the rest is after work that took so long. */
const rests = (rule: DutyRule, tookMs: readonly number[], sinceMs = 0): number[] =>
  tookMs.map((each) => restMs(rule, { tookMs: each, sinceMs }));

describe('the rest after a piece of work', () => {
  test('is so many times the work: a rest of 9 leaves the work a tenth of the time', () => {
    expect(rests(RULE, [0, 70, 200])).toEqual([0, 630, 1_800]);
  });

  test('ends the cycle at the latest, but is never shorter than the shortest rest', () => {
    expect(rests(RULE, [300, 900, 1_500, 3_000])).toEqual([1_700, 1_100, 1_500, 3_000]);
    expect(rests({ ...RULE, minRest: 0 }, [1_500, 3_000])).toEqual([500, 0]);
  });

  test('is the shortest one for work that has fallen behind', () => {
    expect(rests(RULE, [70], 39_999)).toEqual([630]);
    expect(rests(RULE, [70], 40_000)).toEqual([70]);
  });

  test('without a factor it is what is left of the cycle', () => {
    expect(rests({ cycleMs: 30, minRest: 0 }, [0, 10, 40])).toEqual([30, 20, 0]);
  });
});

test('a cycle measures the work since the last rest, and how long all of it has gone on', () => {
  let nowMs = 1_000;
  const cycle = new DutyCycle(() => nowMs);
  nowMs += 100;
  expect(cycle.restMs(RULE)).toBe(900);
  // A rest that takes longer than it should is not made up for.
  nowMs += 5_000;
  cycle.resume();
  nowMs += 10;
  expect(cycle.restMs(RULE)).toBe(90);
  nowMs += 40_000;
  cycle.resume();
  nowMs += 10;
  expect(cycle.restMs(RULE)).toBe(10);
});

test('work that took longer than its cycle is made up for by the rests that follow, where the rule says so', () => {
  let nowMs = 0;
  const restsAfter = (rule: DutyRule, pieces: readonly number[]): number[] => {
    const cycle = new DutyCycle(() => nowMs);
    return pieces.map((tookMs) => {
      nowMs += tookMs;
      const rest = cycle.restMs(rule);
      nowMs += rest;
      cycle.resume();
      return rest;
    });
  };
  const rule: DutyRule = { cycleMs: 30, minRest: 0 };
  expect(restsAfter(rule, [70, 10, 10])).toEqual([0, 20, 20]);
  expect(restsAfter({ ...rule, makesUpMs: 100 }, [70, 10, 10, 10])).toEqual([0, 0, 0, 20]);
  expect(restsAfter({ ...rule, makesUpMs: 20 }, [70, 10, 10])).toEqual([0, 0, 20]);
});
