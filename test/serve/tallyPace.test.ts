import { describe, expect, test } from 'bun:test';

import { TallyPace } from '../../src/serve/tallyPace.ts';

/** How long writing so many counts takes, when each slice takes so long by itself, the first is held up, and its rest too. */
function seconds(counts: number, { slice = 100, sliceMs = 0, heldUpMs = 0, sleptMs = 0 } = {}): number {
  let nowMs = 0;
  const pace = new TallyPace(() => nowMs);
  for (let waiting = counts - slice; waiting > 0; waiting -= slice) {
    const isFirst = waiting === counts - slice;
    nowMs += sliceMs + (isFirst ? heldUpMs : 0);
    nowMs += pace.restMs(slice, waiting) + (isFirst ? sleptMs : 0);
    pace.rested();
  }
  return Math.round(nowMs / 1000);
}

describe('the pace of writing counts down', () => {
  test.each([
    [100, 0],
    [10_000, 1],
    [100_000, 8],
    [200_000, 20],
    [1_000_000, 304],
  ])(
    '%d keys that were used take %d seconds, however large the slices are, and as long as writing takes less',
    (keys, all) => {
      expect(seconds(keys)).toBe(all);
      expect(seconds(keys, { slice: 500 })).toBe(all);
      expect(seconds(keys, { sliceMs: 7 })).toBe(all);
    },
  );

  test('what was held up is made up for, but not more than 10 seconds of it', () => {
    expect(seconds(100_000, { heldUpMs: 3_000 })).toBe(8);
    expect(seconds(1_000_000, { heldUpMs: 10_000 })).toBe(304);
    expect(seconds(1_000_000, { heldUpMs: 60_000 })).toBe(354);
  });

  test('a process that was stopped in a rest makes up for nothing', () => {
    expect(seconds(100_000, { sleptMs: 5_000 })).toBe(13);
  });

  test('where writing takes longer than the rests there are none', () => {
    expect(seconds(100_000, { sliceMs: 20 })).toBe(20);
  });
});
