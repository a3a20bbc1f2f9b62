import { describe, expect, test } from 'bun:test';

import { ByteBuffer } from '../../../src/http/front/byteBuffer.ts';
import { ReceivedBytes } from '../../../src/http/front/front.ts';
import { LARGE_BYTES, MemoryBudget, OWN_BYTES } from '../../../src/http/front/frontLimits.ts';

const text = ({ bytes, start, end }: ByteBuffer): string => bytes.toString('latin1', start, end);

describe('what is buffer', () => {
  test('comes out as it came in, however it is cut', () => {
    const buffer = new ByteBuffer(new MemoryBudget());
    const all = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 251));
    const out: Buffer[] = [];
    for (let at = 0, step = 1; at < all.length; at += step, step = (step * 7) % 97) {
      buffer.add(Buffer.from(all.subarray(at, at + step)));
      expect(buffer.keep()).toBe(true);
      const count = Math.floor(buffer.length / 2);
      out.push(Buffer.from(buffer.bytes.subarray(buffer.start, buffer.start + count)));
      buffer.consume(count);
    }
    out.push(Buffer.from(buffer.bytes.subarray(buffer.start, buffer.end)));
    expect(Buffer.concat(out).equals(all)).toBe(true);
  });

  test('a body of 4 MiB in pieces of one byte is copied a few times, not once for each', () => {
    const buffer = new ByteBuffer(new MemoryBudget());
    const buffers = new Set<Buffer>();
    const piece = Buffer.from('a');
    for (let i = 0; i < 4 << 20; i++) {
      buffer.add(piece);
      buffers.add(buffer.bytes);
    }
    expect(buffer.length).toBe(4 << 20);
    // 1 byte as it came, then 512 bytes, and twice as much each time.
    expect(buffers.size).toBe(2 + Math.log2((4 << 20) / 512));
  });

  test('no more room is made than is expected', () => {
    const buffer = new ByteBuffer(new MemoryBudget());
    buffer.add(Buffer.alloc(600), 700);
    buffer.add(Buffer.alloc(50), 700);
    expect(buffer.bytes.length).toBe(700);
    buffer.add(Buffer.alloc(100), 700);
    expect(buffer.bytes.length).toBe(750);
  });

  test('little that is left of much does not keep the memory of all', () => {
    const buffer = new ByteBuffer(new MemoryBudget());
    buffer.add(Buffer.alloc(500_000, 'a'));
    buffer.consume(499_990);
    expect(buffer.keep()).toBe(true);
    expect([buffer.bytes.length, text(buffer)]).toEqual([512, 'a'.repeat(10)]);
  });

  test('what is above its own is taken of the memory budget and given back', () => {
    const memory = new MemoryBudget(1000);
    const buffer = new ByteBuffer(memory);
    buffer.add(Buffer.alloc(OWN_BYTES + 400));
    expect([buffer.keep(), memory.left]).toEqual([true, 600]);
    expect([buffer.keep(), memory.left]).toEqual([true, 600]);
    const other = new ByteBuffer(memory);
    other.add(Buffer.alloc(OWN_BYTES + 601));
    expect([other.keep(), memory.left]).toEqual([false, 600]);
    other.clear();
    buffer.clear();
    expect(memory.left).toBe(1000);
    other.add(Buffer.alloc(OWN_BYTES));
    expect([other.keep(), memory.left]).toEqual([true, 1000]);
  });

  test('long ones leave a quarter of the memory budget to short ones', () => {
    const memory = new MemoryBudget(1_000_000);
    const hold = (bytes: number): boolean => {
      const buffer = new ByteBuffer(memory);
      buffer.add(Buffer.alloc(OWN_BYTES + bytes));
      return buffer.keep();
    };
    expect([hold(LARGE_BYTES + 1), hold(750_000 - LARGE_BYTES - 1)]).toEqual([true, true]);
    expect([hold(LARGE_BYTES + 1), hold(LARGE_BYTES), memory.left]).toEqual([false, true, 250_000 - LARGE_BYTES]);
  });
});

test('while much waits for an answer nothing more is taken, until there is room again', () => {
  const calls: string[] = [];
  const received = new ReceivedBytes(
    { pause: () => calls.push('pause'), resume: () => calls.push('resume') },
    new MemoryBudget(),
  );
  received.add(Buffer.alloc(OWN_BYTES));
  received.holdBack();
  expect(calls).toEqual([]);
  received.add(Buffer.alloc(2));
  received.holdBack();
  received.holdBack();
  expect(calls).toEqual(['pause']);
  // Part of it was read, and much is left.
  received.consume(1);
  received.holdBack();
  expect(calls).toEqual(['pause']);
  received.consume(1);
  received.holdBack();
  expect(calls).toEqual(['pause', 'resume']);
  received.add(Buffer.alloc(1));
  received.holdBack();
  // Its request is there only in part: more has to come.
  received.takeMore();
  received.takeMore();
  expect(calls).toEqual(['pause', 'resume', 'pause', 'resume']);
});
