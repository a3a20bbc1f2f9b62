import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { base58Length } from '../../src/basics/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../../src/core/ids.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

describe('ids', () => {
  test('sort by their time, whatever their random part', () => {
    const time = fc.integer({ min: 0, max: Date.parse('3000-01-01T00:00:00Z') });
    const random = fc.uint8Array({ minLength: ID_RANDOM_BYTES, maxLength: ID_RANDOM_BYTES });
    fc.assert(
      fc.property(time, time, random, random, (a, b, randomA, randomB) => {
        fc.pre(a !== b);
        expect(makeId('key', a, randomA) < makeId('key', b, randomB)).toBe(a < b);
      }),
      { seed, numRuns: 500 },
    );
  });

  test('have a fixed length until the year 6000 and hold only letters, digits and one underscore', () => {
    for (const at of ['1970-01-01T00:00:00Z', '2026-03-15T12:00:00Z', '6000-01-01T00:00:00Z']) {
      const id = makeId('api', Date.parse(at), new Uint8Array(ID_RANDOM_BYTES).fill(255));
      expect(id).toMatch(/^api_[1-9A-HJ-NP-Za-km-z]+$/);
      expect(id.length).toBe(4 + 8 + base58Length(ID_RANDOM_BYTES));
    }
  });

  test('within one millisecond differ by their random part alone', () => {
    const [a, b] = [makeId('key', 5, Uint8Array.of(1, 2)), makeId('key', 5.9, Uint8Array.of(1, 3))];
    expect(a.slice(0, 12)).toBe(b.slice(0, 12));
    expect(a).not.toBe(b);
  });
});
