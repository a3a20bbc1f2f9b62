import { describe, expect, test } from 'bun:test';

import { saveRestMs } from '../../src/serve/savePace.ts';

const MANY = { counts: 20_000, tookMs: 100, isShared: true, isAlone: true };

describe('after local counts were saved', () => {
  test('other nodes are told at the next turn, however long it takes', () => {
    expect(saveRestMs({ ...MANY, isAlone: false })).toBe(0);
    expect(saveRestMs({ ...MANY, isAlone: false, tookMs: 60_000 })).toBe(0);
  });

  test('a node that is alone has a shared database save them for a fiftieth of the time, and every 20 s', () => {
    expect(saveRestMs(MANY)).toBe(5_000);
    expect(saveRestMs({ ...MANY, tookMs: 400 })).toBe(20_000);
    expect(saveRestMs({ ...MANY, tookMs: 60_000 })).toBe(20_000);
  });

  test('few of them are saved at every turn, however far the database is', () => {
    expect(saveRestMs({ ...MANY, counts: 100, tookMs: 3_000 })).toBe(0);
    expect(saveRestMs({ ...MANY, counts: 101, tookMs: 100 })).toBe(5_000);
  });

  test('on one machine it is a twentieth of the time', () => {
    const alone = { ...MANY, isShared: false };
    expect(saveRestMs(alone)).toBe(2_000);
    expect(saveRestMs({ ...alone, counts: 1, tookMs: 1 })).toBe(20);
  });
});
