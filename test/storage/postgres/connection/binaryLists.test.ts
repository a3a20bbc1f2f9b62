import { describe, expect, test } from 'bun:test';

import { int8List } from '../../../../src/storage/postgres/connection/binaryLists.ts';

/** Reads a list as the server does. */
function read(bytes: Buffer): (bigint | null)[] {
  let at = 0;
  const int4 = () => bytes.readInt32BE((at += 4) - 4);
  const [dimensions, mayHaveNulls, type] = [int4(), int4(), int4()];
  expect([mayHaveNulls, type]).toEqual([1, 20]);
  const length = dimensions === 0 ? 0 : int4();
  if (dimensions === 1) expect(int4()).toBe(1);
  const values = Array.from({ length }, () => {
    if (int4() === -1) return null;
    return bytes.readBigInt64BE((at += 8) - 8);
  });
  expect(at).toBe(bytes.length);
  return values;
}

const EXTREMES = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53];

describe('a list of numbers for the server', () => {
  test('has each number as it is, however large, and nulls', () => {
    expect(read(int8List([...EXTREMES, null, 7]))).toEqual([...EXTREMES.map(BigInt), null, 7n]);
    expect(read(int8List([null]))).toEqual([null]);
  });

  test('may be empty', () => {
    expect(read(int8List([]))).toEqual([]);
  });
});
