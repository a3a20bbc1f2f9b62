import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { fromLog, toLog } from '../../../src/storage/sqlite/loggedBytes.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const count = fc.oneof(
  fc.constantFrom(0, 1, 0xffff, 0x1_0000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
  fc.constantFrom((2 ** 32 - 1) * 1000, 2 ** 32 * 1000),
  fc.nat(),
  fc.nat().map((seconds) => seconds * 1000),
  fc.maxSafeNat(),
);
/** Often a little above the value. */
const base = (value: number): fc.Arbitrary<number> =>
  fc.oneof(
    count,
    fc.nat({ max: 0x1_0001 }).map((more) => Math.min(value + more, Number.MAX_SAFE_INTEGER)),
  );
const entry = fc
  .tuple(count, fc.constantFrom(-1, 0, 1), count, count, count, count, count)
  .chain(([id, kind, value, mark, dueAtMs, revision, segmentMs]) =>
    base(value).map((above) => [id, kind, value, mark, dueAtMs, revision, above, segmentMs]),
  );

test('what is written to the log is read out of it again, whatever the numbers are', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 300 }), (entries) => {
      const numbers = new Float64Array(entries.flat());
      // Somewhere in a larger block of memory, as SQLite hands it out.
      const bytes = new Uint8Array([7, ...toLog(numbers)]).subarray(1);
      expect(fromLog(bytes)).toEqual(numbers);
    }),
    { seed, numRuns: 500 },
  );
});

test('the second credit of a row takes 13 bytes, also with a refill: what it has in common with the first is left out', () => {
  const day = Date.UTC(2026, 10, 17);
  const added = (first: readonly number[], second: readonly number[]): number =>
    toLog(new Float64Array([...first, ...second])).length - toLog(new Float64Array(first)).length;
  const [plain, refilled] = [
    [0, 0],
    [day, day + 86_400_000],
  ].map((refill) =>
    added([123_456, 0, 999_999, ...refill, 1, 1_000_000, day], [654_321, 0, 99_998, ...refill, 1, 100_000, day]),
  );
  expect([plain, refilled]).toEqual([13, 13]);
});

test.each([-1, 1.5, Number.NaN])('a number that no account can have (%p) is not read back as another one', (wrong) => {
  for (const offset of [0, 2, 3, 4, 5, 6, 7]) {
    const numbers = new Float64Array([1, 0, 2, 0, 0, 1, 2, 0]);
    numbers[offset] = wrong;
    expect(() => fromLog(toLog(numbers))).toThrow('it holds impossible numbers');
  }
});

test('a form that does not exist, and a first account that refers to one before it, are refused', () => {
  const impossible = 'it holds impossible numbers';
  for (const form of [7, 1]) expect(() => fromLog(new Uint8Array([1 | (form << 2), 0, 0]))).toThrow(impossible);
});

test('bytes that nobody can have written are refused', () => {
  const row = [...toLog(new Float64Array([5, 1, 7, 0, 0, 0, 0, 2 ** 40 + 1]))];
  const changed = (at: number, byte: number): Uint8Array =>
    new Uint8Array(row.map((each, i) => (i === at ? byte : each)));
  const impossible = 'it holds impossible numbers';
  expect(() => fromLog(changed(0, (row[0] ?? 0) | 3))).toThrow(impossible);
  expect(() => fromLog(changed(row.length - 1, 0xff))).toThrow(impossible);
  expect(() => fromLog(new Uint8Array(row.slice(0, -1)))).toThrow('Out of bounds access');
});
