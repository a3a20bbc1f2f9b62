import { expect, test } from 'bun:test';

import { overAll, sumOf } from '../../tools/bench/statistics.ts';

test('a quantity over all pairs counts what is rare, and a pair in which the machine hung counts little', () => {
  const cost = (pairs: readonly (readonly [seconds: number, requests: number])[]): number =>
    sumOf(pairs, ([seconds]) => seconds) / sumOf(pairs, ([, requests]) => requests);
  const usual = Array.from({ length: 9 }, () => [1, 100] as const);
  expect(overAll(usual, cost)).toEqual({ quotient: 0.01, error: 0 });
  expect(overAll([...usual, [2, 100]], cost).quotient).toBe(0.011);
  expect(overAll([...usual, [0.1, 1]], cost).quotient).toBeCloseTo(0.0101, 6);
  // Of a mean, the jackknife is its standard error.
  const mean = (values: readonly number[]): number => sumOf(values, (value) => value) / values.length;
  expect(overAll([1, 2, 3], mean)).toEqual({ quotient: 2, error: expect.closeTo(Math.sqrt(1 / 3), 12) as number });
});
