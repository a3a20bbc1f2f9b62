import { describe, expect, test } from 'bun:test';

import { MAX_PACKED_COST } from '../../../src/engine/cache/keyCounts.ts';
import { AnalyticsSetup, digestOf, keyIdOf } from '../../support/analytics.ts';

const [K1, K2] = [keyIdOf(1), keyIdOf(2)];

describe('credits of verifications', () => {
  test('are added up, whatever they cost and however the key is kept in memory', async () => {
    const setup = new AnalyticsSetup();
    for (const key of [setup.pack(1), setup.keep(2)]) {
      for (const creditsTaken of [1_000_000, 5, 5, 0, 1, 5, MAX_PACKED_COST, MAX_PACKED_COST + 1]) {
        setup.verify(key, { creditsTaken });
      }
      setup.verify(key, { code: 'USAGE_EXCEEDED' });
    }
    await setup.writing.flush();
    const sum = `8,0,0,0,0,0,0,1 (${15 + 1 + MAX_PACKED_COST + MAX_PACKED_COST + 1 + 1_000_000})`;
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: ${sum}`, `12:00 api_2 ${K1}: ${sum}`]);
  });

  test('a packed key that always costs the same needs no object, from nothing to the largest cost that fits', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.pack(1);
    for (const creditsTaken of [0, 1, MAX_PACKED_COST]) {
      setup.clock.advance(60_000);
      for (let n = 0; n < 3; n++) setup.verify(key, { creditsTaken });
    }
    expect(setup.openCounts.openSize).toBe(0);
    setup.verify(key, { creditsTaken: MAX_PACKED_COST + 1 });
    expect(setup.openCounts.openSize).toBe(1);
    await setup.writing.flush();
    expect(setup.written()).toEqual([
      `12:01 api_2 ${K1}: 3`,
      `12:02 api_2 ${K1}: 3 (3)`,
      `12:03 api_2 ${K1}: 4 (${4 * MAX_PACKED_COST + 1})`,
    ]);
  });

  test('the cost leaves the last use as it is, at the end of a generation of an hour too', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.pack(1);
    // So many wait that the minute goes on until the hour ends.
    for (let number = 2; number < 1_500; number++) setup.verify(setup.pack(number));
    setup.openCounts.seal();
    const startMs = setup.clock.nowMs();
    setup.verify(key, { creditsTaken: MAX_PACKED_COST });
    setup.clock.advance(3_599_999);
    setup.verify(key, { creditsTaken: MAX_PACKED_COST });
    setup.verify(key, { creditsTaken: MAX_PACKED_COST, atMs: startMs + 5 });
    await setup.writing.flush();
    expect(setup.analytics.lastUses.get(K1)).toBe(startMs + 3_599_999);
    expect(setup.written().filter((line) => line.includes(K1))).toEqual([
      `12:00 api_2 ${K1}: 3 (${3 * MAX_PACKED_COST})`,
    ]);
  });

  test('are not lost when the key is dropped, and stop at the largest whole number that is exact', async () => {
    const setup = new AnalyticsSetup();
    setup.verify(setup.pack(1), { creditsTaken: 7 });
    setup.packed.delete(digestOf(1));
    const key = setup.keep(2);
    for (const creditsTaken of [Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER])
      setup.verify(key, { creditsTaken });
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: 3 (${Number.MAX_SAFE_INTEGER})`, `12:00 api_2 ${K1}: 1 (7)`]);
  });
});
