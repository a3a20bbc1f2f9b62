import { describe, expect, test } from 'bun:test';

import { foldRestMs, stepRestMs } from '../../src/serve/foldPace.ts';

describe('between two steps of folding', () => {
  test('on one machine it rests for as long as the step took', () => {
    expect(stepRestMs({ tookMs: 70, sinceMs: 0, isShared: false })).toBe(70);
  });

  test('of a shared database it takes a tenth of the time', () => {
    expect(stepRestMs({ tookMs: 70, sinceMs: 39_999, isShared: true })).toBe(630);
  });

  test('but rests for no more than 2 s, or as long as the step took', () => {
    const rests = [200, 300, 1_500, 3_000].map((tookMs) => stepRestMs({ tookMs, sinceMs: 0, isShared: true }));
    expect(rests).toEqual([1_800, 2_000, 2_000, 3_000]);
  });

  test('a round that is not through after 40 s takes half of it: it must not fall behind', () => {
    expect(stepRestMs({ tookMs: 70, sinceMs: 40_000, isShared: true })).toBe(70);
  });
});

describe('between two rounds of folding', () => {
  test('a short one is followed by thirty times its time', () => {
    for (const isShared of [false, true]) expect(foldRestMs({ tookMs: 100, isShared })).toBe(3_000);
  });

  test('on one machine it is 100 s at the most', () => {
    expect(foldRestMs({ tookMs: 60_000, isShared: false })).toBe(100_000);
  });

  test('on a shared database it is 60 s at the most, less after a long one, so that rounds begin 80 s after each other, but not under 20 s', () => {
    const rests = [2_000, 10_000, 25_000, 50_000, 70_000, 300_000].map((tookMs) =>
      foldRestMs({ tookMs, isShared: true }),
    );
    expect(rests).toEqual([60_000, 60_000, 55_000, 30_000, 20_000, 20_000]);
  });
});
