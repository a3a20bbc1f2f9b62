import { expect, test } from 'bun:test';

import { RequestIds } from '../../../src/http/service.ts';
import type { System } from '../../../src/engine/platform.ts';

/** Characters of the counter: four in the service, which would be 11 million ids behind one random part. */
const WIDTH = 2;

test('request ids ascend, each is there once, and when all behind one random part are used there is another', () => {
  let bases = 0;
  const system = { nowMs: () => 1_000, randomBytes: (length: number) => new Uint8Array(length).fill(++bases) };
  const ids = new RequestIds(system as unknown as System, WIDTH);
  let last = ids.next();
  const { length } = last;
  let isAscending = true;
  for (let i = 1; i < 58 ** WIDTH; i++) {
    const next = ids.next();
    isAscending &&= next > last && next.length === length;
    last = next;
  }
  expect(isAscending).toBe(true);
  expect(bases).toBe(1);
  const next = ids.next();
  expect(bases).toBe(2);
  expect(next.slice(0, -WIDTH)).not.toBe(last.slice(0, -WIDTH));
  expect(next.length).toBe(length);
});
