import { describe, expect, test } from 'bun:test';

import { saveRestMs } from '../../src/serve/savePace.ts';

describe('after local counts were saved', () => {
  test('other nodes are told at the next turn, however long it takes', () => {
    expect(saveRestMs({ isShared: true, tookMs: 100 })).toBe(0);
    expect(saveRestMs({ isShared: true, tookMs: 60_000 })).toBe(0);
  });

  test('on one machine saving takes a twentieth of the time', () => {
    expect(saveRestMs({ isShared: false, tookMs: 100 })).toBe(2_000);
    expect(saveRestMs({ isShared: false, tookMs: 1 })).toBe(20);
  });
});
