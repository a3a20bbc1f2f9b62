import { describe, expect, test } from 'bun:test';

import { BindMessage, ROOM_FOR_NUMBER, roomForList } from '../../../src/storage/postgres/connection/bindMessage.ts';

/** Reads a message as the server does, and that it ends where it says. */
function readBind(bytes: Buffer, listsAt: ReadonlySet<number>) {
  let at = 0;
  const int2 = () => bytes.readInt16BE((at += 2) - 2);
  const int4 = () => bytes.readInt32BE((at += 4) - 4);
  const int8 = () => bytes.readBigInt64BE((at += 8) - 8);
  const text = () => {
    const end = bytes.indexOf(0, at);
    const read = bytes.toString('latin1', at, end);
    at = end + 1;
    return read;
  };
  const number = () => {
    const length = int4();
    if (length === -1) return null;
    return length === 1 ? BigInt(bytes.readInt8(at++)) : int8();
  };
  const list = () => {
    const end = int4() + at;
    const [dimensions, mayHaveNulls, type] = [int4(), int4(), int4()];
    expect([mayHaveNulls, type]).toEqual([1, 20]);
    const length = dimensions === 0 ? 0 : int4();
    if (dimensions === 1) expect(int4()).toBe(1);
    const values = Array.from({ length }, number);
    expect(at).toBe(end);
    return values;
  };
  expect(bytes.toString('latin1', at++, at)).toBe('B');
  const end = int4() + 1;
  const names = [text(), text()];
  expect([int2(), int2()]).toEqual([1, 1]);
  const values = Array.from({ length: int2() }, (_, i) => (listsAt.has(i) ? list() : number()));
  expect(int2()).toBe(0);
  expect(at).toBe(end);
  expect([...bytes.subarray(at)]).toEqual([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
  return { names, values };
}

const EXTREMES = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53];

describe('a message to a prepared statement', () => {
  test('says each number as it is, however large, and nothing as nothing', () => {
    const message = new BindMessage('take', 4, 2 * ROOM_FOR_NUMBER + 2 * roomForList(EXTREMES.length + 1));
    message.bool(true);
    message.int8(null);
    message.int8s([...EXTREMES, null]);
    message.int8s([]);
    expect(readBind(message.end(), new Set([2, 3]))).toEqual({
      names: ['', 'take'],
      values: [1n, null, [...EXTREMES.map(BigInt), null], []],
    });
  });

  test('has room for all that it was made for', () => {
    const [numbers, lists, length] = [4, 8, 500];
    const message = new BindMessage('take', numbers + lists, numbers * ROOM_FOR_NUMBER + lists * roomForList(length));
    const full = Array.from({ length }, () => 2 ** 53 - 1);
    for (let i = 0; i < numbers; i++) message.int8(i);
    for (let i = 0; i < lists; i++) message.int8s(full);
    const { values } = readBind(message.end(), new Set(Array.from({ length: lists }, (_, i) => numbers + i)));
    expect(values.slice(0, numbers)).toEqual([0n, 1n, 2n, 3n]);
    expect(values.slice(numbers)).toEqual(Array.from({ length: lists }, () => full.map(BigInt)));
  });
});
