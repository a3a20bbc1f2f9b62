import { type Memory, OWN_BYTES } from './frontLimits.ts';

const EMPTY = Buffer.alloc(0);
const SMALLEST = 512;

/**
 * Bytes that wait to be read. Bytes that arrive while none wait are not copied. The buffer doubles when it is full, so that a body in very
 * many small pieces is copied a few times and not once for each piece.
 */
export class ByteBuffer {
  readonly #memory: Memory;
  /** The bytes that wait are `bytes` from `start` to `end`. */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** This buffer allocated `bytes` itself, and may write behind `end`. */
  #isOwn = false;
  /** Taken from the memory budget. */
  #taken = 0;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** `expected`: how many bytes there will be in all, where that is known. */
  add(more: Buffer, expected = Infinity): void {
    if (this.start === this.end) {
      this.bytes = more;
      this.end = more.length;
      return;
    }
    this.addCopy(more, 0, more.length, expected);
  }

  /** Copies `count` bytes of `source`. */
  addCopy(source: Buffer, start: number, count: number, expected = Infinity): void {
    if (!this.#isOwn || this.end + count > this.bytes.length) this.#moveTo(sizeFor(this.length + count, expected));
    this.end += source.copy(this.bytes, this.end, start, start + count);
  }

  consume(count: number): void {
    this.start += count;
    if (this.start === this.end) this.clear();
  }

  clear(): void {
    this.bytes = EMPTY;
    this.start = 0;
    this.end = 0;
    this.#isOwn = false;
    if (this.#taken > 0) this.#memory.giveBack(this.#taken);
    this.#taken = 0;
  }

  /** Shrinks the buffer to what it holds, before the connection waits. False: the budget has not enough memory for it. */
  keep(): boolean {
    if (this.start === this.end) return true;
    if (!this.#isOwn && this.length * 2 < this.bytes.length) this.#moveTo(sizeFor(this.length, Infinity));
    const taken = Math.max(0, this.bytes.length - OWN_BYTES);
    if (taken > this.#taken && !this.#memory.take(taken - this.#taken, taken)) return false;
    if (taken < this.#taken) this.#memory.giveBack(this.#taken - taken);
    this.#taken = taken;
    return true;
  }

  #moveTo(size: number): void {
    const moved = Buffer.allocUnsafeSlow(size);
    const length = this.bytes.copy(moved, 0, this.start, this.end);
    this.bytes = moved;
    this.start = 0;
    this.end = length;
    this.#isOwn = true;
  }
}

/** Twice what is needed now, but no more than is expected. */
function sizeFor(needed: number, expected: number): number {
  return Math.max(needed, Math.min(Math.max(needed * 2, SMALLEST), expected));
}
