import { DIGEST_WORDS } from './packedWords.ts';

const EMPTY = 0;
const DROPPED = 0xffffffff;

/** A power of two: as many parts, each of which grows by itself. To link a million rows anew at once takes too long. */
const PARTS = 256;
const FIRST_PLACES = 16;
/** The word of a digest that tells its part; its place in there comes from other words. */
const PART_WORD = 2;

/** Finds rows by the digest that they begin with: open addressing, each place holds a row's number + 1. */
export class RowIndex {
  readonly #rowLength: number;
  readonly #parts: Uint32Array[] = Array.from({ length: PARTS }, () => new Uint32Array(FIRST_PLACES));
  /** Places of each part that are not empty. */
  readonly #taken = new Uint32Array(PARTS);

  /** `rowLength` words each. */
  constructor(rowLength: number) {
    this.#rowLength = rowLength;
  }

  /** -1 = there is none. */
  find(rows: Uint32Array, digest: Uint32Array): number {
    const places = this.#part(digest, 0);
    const mask = places.length - 1;
    for (let i = firstPlace(digest, 0) & mask; ; i = (i + 1) & mask) {
      const linked = places[i] ?? EMPTY;
      if (linked === EMPTY) return -1;
      if (linked !== DROPPED && this.#isRow(rows, linked - 1, digest)) return linked - 1;
    }
  }

  link(rows: Uint32Array, row: number): void {
    const number = partOf(rows, row * this.#rowLength);
    const taken = this.#taken[number] ?? 0;
    if ((taken + 1) * 2 > (this.#parts[number]?.length ?? 0)) this.#grow(rows, number);
    this.#put(rows, number, row);
  }

  unlink(rows: Uint32Array, row: number): void {
    const places = this.#part(rows, row * this.#rowLength);
    const mask = places.length - 1;
    let i = firstPlace(rows, row * this.#rowLength) & mask;
    while (places[i] !== row + 1) i = (i + 1) & mask;
    places[i] = DROPPED;
  }

  #part(words: Uint32Array, at: number): Uint32Array {
    return this.#parts[partOf(words, at)] as Uint32Array;
  }

  #put(rows: Uint32Array, number: number, row: number): void {
    const places = this.#parts[number] as Uint32Array;
    const mask = places.length - 1;
    let i = firstPlace(rows, row * this.#rowLength) & mask;
    while (places[i] !== EMPTY) i = (i + 1) & mask;
    places[i] = row + 1;
    this.#taken[number] = (this.#taken[number] ?? 0) + 1;
  }

  /** Twice as large, or as large as it was where half of it was dropped. */
  #grow(rows: Uint32Array, number: number): void {
    const before = this.#parts[number] as Uint32Array;
    const linked = before.filter((place) => place !== EMPTY && place !== DROPPED);
    const length = linked.length * 4 > before.length ? before.length * 2 : before.length;
    this.#parts[number] = new Uint32Array(length);
    this.#taken[number] = 0;
    for (const place of linked) this.#put(rows, number, place - 1);
  }

  #isRow(rows: Uint32Array, row: number, digest: Uint32Array): boolean {
    const at = row * this.#rowLength;
    for (let i = 0; i < DIGEST_WORDS; i++) if (rows[at + i] !== digest[i]) return false;
    return true;
  }
}

function partOf(words: Uint32Array, at: number): number {
  return (words[at + PART_WORD] ?? 0) & (PARTS - 1);
}

/** A digest is random already: its first words are as good as any hash of it. */
function firstPlace(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) ^ ((words[at + 1] ?? 0) << 8);
}
