import { expect, test } from 'bun:test';

import { RequestIds } from '../../../src/http/request/requestId.ts';
import type { System } from '../../../src/engine/system.ts';

const IDS_OF_ONE_BASE = 58 ** 4;
/** Looked at one by one, at the beginning and at the end: past some changes of the characters that change seldom. */
const LOOKED_AT = 58 ** 2 * 3;

test('request ids ascend, each is there once, and when all behind one random part are used there is another', () => {
  let bases = 0;
  const system = { nowMs: () => 1_000, randomBytes: (length: number) => new Uint8Array(length).fill(++bases) };
  const ids = new RequestIds(system as unknown as System);
  let last = ids.next();
  const { length } = last;
  let isAscending = true;
  for (let i = 1; i < IDS_OF_ONE_BASE; i++) {
    const next = ids.next();
    if (i > LOOKED_AT && i < IDS_OF_ONE_BASE - LOOKED_AT) continue;
    isAscending &&= next > last && next.length === length;
    last = next;
  }
  expect(isAscending).toBe(true);
  expect(bases).toBe(1);
  const next = ids.next();
  expect(bases).toBe(2);
  expect(next.slice(0, -4)).not.toBe(last.slice(0, -4));
  expect(next.length).toBe(length);
});
