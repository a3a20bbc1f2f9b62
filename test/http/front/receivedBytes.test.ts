import { describe, expect, test } from 'bun:test';

import { Held } from '../../../src/http/front/byteBuffer.ts';
import { Inbox } from '../../../src/http/front/receivedBytes.ts';
import { LARGE_BYTES, OWN_BYTES, Store } from '../../../src/http/front/memoryBudget.ts';

const text = ({ bytes, start, end }: Held): string => bytes.toString('latin1', start, end);

describe('what is held', () => {
  test('comes out as it came in, however it is cut', () => {
    const held = new Held(new Store());
    const all = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 251));
    const out: Buffer[] = [];
    for (let at = 0, step = 1; at < all.length; at += step, step = (step * 7) % 97) {
      held.add(Buffer.from(all.subarray(at, at + step)));
      expect(held.keep()).toBe(true);
      const count = Math.floor(held.length / 2);
      out.push(Buffer.from(held.bytes.subarray(held.start, held.start + count)));
      held.consume(count);
    }
    out.push(Buffer.from(held.bytes.subarray(held.start, held.end)));
    expect(Buffer.concat(out).equals(all)).toBe(true);
  });

  test('a body of 4 MiB in pieces of one byte is copied a few times, not once for each', () => {
    const held = new Held(new Store());
    const buffers = new Set<Buffer>();
    const piece = Buffer.from('a');
    for (let i = 0; i < 4 << 20; i++) {
      held.add(piece);
      buffers.add(held.bytes);
    }
    expect(held.length).toBe(4 << 20);
    // 1 byte as it came, then 512 bytes, and twice as much each time.
    expect(buffers.size).toBe(2 + Math.log2((4 << 20) / 512));
  });

  test('no more room is made than is expected', () => {
    const held = new Held(new Store());
    held.add(Buffer.alloc(600), 700);
    held.add(Buffer.alloc(50), 700);
    expect(held.bytes.length).toBe(700);
    held.add(Buffer.alloc(100), 700);
    expect(held.bytes.length).toBe(750);
  });

  test('little that is left of much does not keep the memory of all', () => {
    const held = new Held(new Store());
    held.add(Buffer.alloc(500_000, 'a'));
    held.consume(499_990);
    expect(held.keep()).toBe(true);
    expect([held.bytes.length, text(held)]).toEqual([512, 'a'.repeat(10)]);
  });

  test('what is above its own is taken of the store and given back', () => {
    const store = new Store(1000);
    const held = new Held(store);
    held.add(Buffer.alloc(OWN_BYTES + 400));
    expect([held.keep(), store.left]).toEqual([true, 600]);
    expect([held.keep(), store.left]).toEqual([true, 600]);
    const other = new Held(store);
    other.add(Buffer.alloc(OWN_BYTES + 601));
    expect([other.keep(), store.left]).toEqual([false, 600]);
    other.clear();
    held.clear();
    expect(store.left).toBe(1000);
    other.add(Buffer.alloc(OWN_BYTES));
    expect([other.keep(), store.left]).toEqual([true, 1000]);
  });

  test('long ones leave a quarter of the store to short ones', () => {
    const store = new Store(1_000_000);
    const hold = (bytes: number): boolean => {
      const held = new Held(store);
      held.add(Buffer.alloc(OWN_BYTES + bytes));
      return held.keep();
    };
    expect([hold(LARGE_BYTES + 1), hold(750_000 - LARGE_BYTES - 1)]).toEqual([true, true]);
    expect([hold(LARGE_BYTES + 1), hold(LARGE_BYTES), store.left]).toEqual([false, true, 250_000 - LARGE_BYTES]);
  });
});

test('while much waits for an answer nothing more is taken, until there is room again', () => {
  const said: string[] = [];
  const inbox = new Inbox({ pause: () => said.push('pause'), resume: () => said.push('resume') }, new Store());
  inbox.add(Buffer.alloc(OWN_BYTES));
  inbox.holdBack();
  expect(said).toEqual([]);
  inbox.add(Buffer.alloc(2));
  inbox.holdBack();
  inbox.holdBack();
  expect(said).toEqual(['pause']);
  // Part of it was read, and much is left.
  inbox.consume(1);
  inbox.holdBack();
  expect(said).toEqual(['pause']);
  inbox.consume(1);
  inbox.holdBack();
  expect(said).toEqual(['pause', 'resume']);
  inbox.add(Buffer.alloc(1));
  inbox.holdBack();
  // Its request is there only in part: more has to come.
  inbox.takeMore();
  inbox.takeMore();
  expect(said).toEqual(['pause', 'resume', 'pause', 'resume']);
});
