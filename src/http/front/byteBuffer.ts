import { OWN_BYTES, type Store } from './memoryBudget.ts';

const EMPTY = Buffer.alloc(0);
const SMALLEST = 512;

/**
 * Bytes that are held until they can be read, one after the other. What comes while nothing is held is not copied. Room
 * doubles, so that a body in very many small pieces is copied a few times and not once for each.
 */
export class Held {
  readonly #store: Store;
  /** What is held is `bytes` from `start` to `end`. */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** Nobody else writes into `bytes`, and there may be room behind `end`. */
  #isOwn = false;
  /** Taken of the store. */
  #taken = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** `expected`: how long all of it will be, where that is known. */
  add(more: Buffer, expected = Infinity): void {
    if (this.start === this.end) {
      this.bytes = more;
      this.end = more.length;
      return;
    }
    this.addCopy(more, 0, more.length, expected);
  }

  /** Adds `count` bytes of `source`, and does not hold `source` itself. */
  addCopy(source: Buffer, start: number, count: number, expected = Infinity): void {
    if (!this.#isOwn || this.end + count > this.bytes.length) this.#moveTo(roomFor(this.length + count, expected));
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
    if (this.#taken > 0) this.#store.giveBack(this.#taken);
    this.#taken = 0;
  }

  /** Shrinks the buffer to what it holds, before the connection waits. False: the store has not enough memory for it. */
  keep(): boolean {
    if (this.start === this.end) return true;
    if (!this.#isOwn && this.length * 2 < this.bytes.length) this.#moveTo(roomFor(this.length, Infinity));
    const taken = Math.max(0, this.bytes.length - OWN_BYTES);
    if (taken > this.#taken && !this.#store.take(taken - this.#taken, taken)) return false;
    if (taken < this.#taken) this.#store.giveBack(this.#taken - taken);
    this.#taken = taken;
    return true;
  }

  #moveTo(room: number): void {
    const moved = Buffer.allocUnsafeSlow(room);
    const length = this.bytes.copy(moved, 0, this.start, this.end);
    this.bytes = moved;
    this.start = 0;
    this.end = length;
    this.#isOwn = true;
  }
}

/** Twice what is needed now, but no more than is expected. */
function roomFor(needed: number, expected: number): number {
  return Math.max(needed, Math.min(Math.max(needed * 2, SMALLEST), expected));
}
