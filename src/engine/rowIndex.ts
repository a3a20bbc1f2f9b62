import { DIGEST_WORDS } from './packedWords.ts';

const EMPTY = 0;
const DROPPED = 0xffffffff;

/** Finds rows by the digest that they begin with: open addressing, each place holds a row's number + 1. */
export class RowIndex {
  readonly #places: Uint32Array;
  readonly #rowLength: number;

  /** For at most so many rows, of so many words each. */
  constructor(rows: number, rowLength: number) {
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(rows * 2)));
    this.#rowLength = rowLength;
  }

  /** -1 = there is none. */
  find(rows: Uint32Array, digest: Uint32Array): number {
    const mask = this.#places.length - 1;
    for (let i = firstPlace(digest, 0) & mask; ; i = (i + 1) & mask) {
      const linked = this.#places[i] ?? EMPTY;
      if (linked === EMPTY) return -1;
      if (linked !== DROPPED && this.#isRow(rows, linked - 1, digest)) return linked - 1;
    }
  }

  link(rows: Uint32Array, row: number): void {
    const mask = this.#places.length - 1;
    let i = firstPlace(rows, row * this.#rowLength) & mask;
    while (this.#places[i] !== EMPTY && this.#places[i] !== DROPPED) i = (i + 1) & mask;
    this.#places[i] = row + 1;
  }

  unlink(rows: Uint32Array, row: number): void {
    const mask = this.#places.length - 1;
    let i = firstPlace(rows, row * this.#rowLength) & mask;
    while (this.#places[i] !== row + 1) i = (i + 1) & mask;
    this.#places[i] = DROPPED;
  }

  #isRow(rows: Uint32Array, row: number, digest: Uint32Array): boolean {
    const at = row * this.#rowLength;
    for (let i = 0; i < DIGEST_WORDS; i++) if (rows[at + i] !== digest[i]) return false;
    return true;
  }
}

/** A digest is random already: its first words are as good as any hash of it. */
function firstPlace(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) ^ ((words[at + 1] ?? 0) << 8);
}
