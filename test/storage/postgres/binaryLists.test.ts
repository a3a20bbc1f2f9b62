import { describe, expect, test } from 'bun:test';

import { int8List, textList } from '../../../src/storage/postgres/connection/binaryLists.ts';

/** Reads a list as the server does. */
function read<T>(bytes: Buffer, of: number, element: (at: number, length: number) => T): (T | null)[] {
  let at = 0;
  const int4 = () => bytes.readInt32BE((at += 4) - 4);
  const [dimensions, _mayHaveNulls, type] = [int4(), int4(), int4()];
  expect(type).toBe(of);
  const length = dimensions === 0 ? 0 : int4();
  if (dimensions === 1) expect(int4()).toBe(1);
  const values = Array.from({ length }, () => {
    const size = int4();
    if (size === -1) return null;
    return element((at += size) - size, size);
  });
  expect(at).toBe(bytes.length);
  return values;
}

function readNumbers(bytes: Buffer): (bigint | null)[] {
  return read(bytes, 20, (at, size) => {
    expect(size).toBe(8);
    return bytes.readBigInt64BE(at);
  });
}

const readTexts = (bytes: Buffer) => read(bytes, 25, (at, size) => bytes.toString('utf8', at, at + size));

const EXTREMES = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53];

describe('a list for the server', () => {
  test('has each number as it is, however large, and nulls', () => {
    expect(readNumbers(int8List([...EXTREMES, null, 7]))).toEqual([...EXTREMES.map(BigInt), null, 7n]);
    expect(readNumbers(int8List([null]))).toEqual([null]);
  });

  test('may be empty', () => {
    expect(readNumbers(int8List([]))).toEqual([]);
    expect(readTexts(textList([]))).toEqual([]);
  });

  test('of texts has each as it is, whatever its characters', () => {
    const texts = ['', 'a', '{"quoted", \\ and comma}', 'größer', '漢字', 'NULL'];
    expect(readTexts(textList(texts))).toEqual(texts);
  });
});
