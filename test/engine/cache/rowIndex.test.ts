import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { DIGEST_WORDS, RowIndex } from '../../../src/engine/cache/packed.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const MAX_ROWS = 3_000;

/** Most begin at few places, so that they are in each other's way. */
const digests = fc.array(fc.tuple(fc.nat({ max: 50 }), fc.nat()), { minLength: 1, maxLength: MAX_ROWS, size: 'max' });

test('a row is found from when it is linked until it is unlinked, also while the index moves into a larger one', () => {
  fc.assert(
    fc.property(digests, fc.integer({ min: 2, max: 7 }), (wanted, step) => {
      const rows = new Uint32Array(MAX_ROWS * DIGEST_WORDS);
      const index = new RowIndex(DIGEST_WORDS, 4);
      const linked = new Set<number>();
      const digestOf = (row: number): Uint32Array => rows.subarray(row * DIGEST_WORDS, (row + 1) * DIGEST_WORDS);
      const isFound = (row: number): boolean => index.find(rows, digestOf(row)) === row;
      for (const [row, [first, other]] of wanted.entries()) {
        rows.set([first, 0, row, other], row * DIGEST_WORDS);
        expect(isFound(row)).toBe(false);
        index.link(rows, row);
        linked.add(row);
        const old = Math.floor(row / step);
        if (row % step === 0 && linked.delete(old)) index.unlink(rows, old);
        for (const each of [row, old, row >> 1, row >> 2]) expect(isFound(each)).toBe(linked.has(each));
      }
      for (const row of wanted.keys()) expect(isFound(row)).toBe(linked.has(row));
    }),
    { seed, numRuns: 30 },
  );
});
