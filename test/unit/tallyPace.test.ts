import { describe, expect, test } from 'bun:test';

import { tallyRestMs } from '../../src/serve/tallyPace.ts';

/** How long the rests of writing so many tallies are together. */
function seconds(tallies: number, slice: number): number {
  let milliseconds = 0;
  for (let waiting = tallies - slice; waiting > 0; waiting -= slice) milliseconds += tallyRestMs(slice, waiting);
  return Math.round(milliseconds / 1000);
}

describe('the pace of writing counts down', () => {
  test.each([
    [100, 0],
    [10_000, 1],
    [100_000, 10],
    [200_000, 25],
    [1_000_000, 325],
  ])('%d keys that were used: the rests are %d seconds, however large the slices are', (keys, expected) => {
    expect([100, 500].map((slice) => seconds(keys, slice))).toEqual([expected, expected]);
  });
});
