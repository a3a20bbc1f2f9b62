import { DIGEST_WORDS } from './packedWords.ts';

const EMPTY = 0;
const DROPPED = 0xffffffff;
/** Bits of a slot that hold the number of its row + 1. The others are bits of the digest, which rule out most other rows. */
const ROW_BITS = 26;
const ROW_MASK = 2 ** ROW_BITS - 1;
/** Slots that move to the new table with each row that is linked. */
const MOVE_STEP = 64;

/**
 * Finds rows by the digest that they begin with, by open addressing. A larger table replaces a full one. Its rows move over some at
 * a time: linking a million of them at once takes too long.
 */
export class RowIndex {
  readonly #rowLength: number;
  #table: Uint32Array;
  /** Slots of the table that are not empty. */
  #taken = 0;
  /** The table before it, while not all of it has moved. */
  #before: Uint32Array | null = null;
  #moved = 0;

  /** `rowLength`: words of a row. `rows`: how many rows fit before the table grows. */
  constructor(rowLength: number, rows: number) {
    this.#rowLength = rowLength;
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(rows * 2)));
  }

  /** -1 = there is none. */
  find(rows: Uint32Array, digest: Uint32Array): number {
    const row = this.#findIn(this.#table, rows, digest);
    return row >= 0 || this.#before === null ? row : this.#findIn(this.#before, rows, digest);
  }

  link(rows: Uint32Array, row: number): void {
    if (this.#before !== null) this.#move(rows, MOVE_STEP);
    if ((this.#taken + 1) * 2 > this.#table.length) this.#replace(rows);
    this.#put(rows, row);
  }

  unlink(rows: Uint32Array, row: number): void {
    this.#dropFrom(this.#table, rows, row);
    if (this.#before !== null) this.#dropFrom(this.#before, rows, row);
  }

  #findIn(table: Uint32Array, rows: Uint32Array, digest: Uint32Array): number {
    const mask = table.length - 1;
    const mark = markOf(digest, 0);
    for (let i = firstSlot(digest, 0) & mask; ; i = (i + 1) & mask) {
      const linked = table[i] ?? EMPTY;
      if (linked === EMPTY) return -1;
      if (linked >>> ROW_BITS !== mark || linked === DROPPED) continue;
      const row = (linked & ROW_MASK) - 1;
      if (this.#isRow(rows, row, digest)) return row;
    }
  }

  #put(rows: Uint32Array, row: number): void {
    const mask = this.#table.length - 1;
    const at = row * this.#rowLength;
    let i = firstSlot(rows, at) & mask;
    while (this.#table[i] !== EMPTY) i = (i + 1) & mask;
    this.#table[i] = slotValue(rows, at, row);
    this.#taken++;
  }

  #dropFrom(table: Uint32Array, rows: Uint32Array, row: number): void {
    const mask = table.length - 1;
    const at = row * this.#rowLength;
    const value = slotValue(rows, at, row);
    for (let i = firstSlot(rows, at) & mask; table[i] !== EMPTY; i = (i + 1) & mask) {
      if (table[i] !== value) continue;
      table[i] = DROPPED;
      return;
    }
  }

  /** The new table is twice as large. Dropped rows do not move and are not counted any more. */
  #replace(rows: Uint32Array): void {
    if (this.#before !== null) this.#move(rows, Infinity);
    this.#before = this.#table;
    this.#moved = 0;
    this.#table = new Uint32Array(this.#before.length * 2);
    this.#taken = 0;
  }

  #move(rows: Uint32Array, count: number): void {
    const before = this.#before;
    if (before === null) return;
    const end = Math.min(this.#moved + count, before.length);
    for (; this.#moved < end; this.#moved++) {
      const linked = before[this.#moved] ?? EMPTY;
      if (linked !== EMPTY && linked !== DROPPED) this.#put(rows, (linked & ROW_MASK) - 1);
    }
    if (end === before.length) this.#before = null;
  }

  #isRow(rows: Uint32Array, row: number, digest: Uint32Array): boolean {
    const at = row * this.#rowLength;
    for (let i = 0; i < DIGEST_WORDS; i++) if (rows[at + i] !== digest[i]) return false;
    return true;
  }
}

/** Where the search for a row begins. Digests are spread evenly, so their first words are enough. */
function firstSlot(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) ^ ((words[at + 1] ?? 0) << 8);
}

/** Bits of a digest that do not choose its first slot. */
function markOf(words: Uint32Array, at: number): number {
  return (words[at + 2] ?? 0) & 0x3f;
}

function slotValue(words: Uint32Array, at: number, row: number): number {
  return ((markOf(words, at) << ROW_BITS) | (row + 1)) >>> 0;
}
