const FIRST_ROWS = 64;

/** Words that a row has for its counts: two generations of a count and when the last of it was. */
export const COUNT_WORDS = 4;
const WORDS_PER_GENERATION = 2;

/** What was taken out of a row. */
export interface TakenCount {
  readonly isSealed: boolean;
  readonly minuteMs: number;
  readonly count: number;
  readonly lastAtMs: number;
}

const NONE: readonly TakenCount[] = [];

/**
 * How often the key of a packed row was valid, in words of the row itself: its cache line is loaded by then, and the garbage
 * collector sees nothing of it. There are two generations:
 *
 *   running --swap--> sealed --take, row by row--> empty, and the next to run
 *
 * Only the running one is added to. Each has a list of the rows in which it is not 0; a row that was dropped may stand there.
 */
export class PackedCounts {
  readonly #touched = [new RowList(), new RowList()] as const;
  readonly #minuteMs: [number, number] = [0, 0];
  #running: 0 | 1 = 0;

  get #sealed(): 0 | 1 {
    return this.#running === 0 ? 1 : 0;
  }

  /** Rows to take, dropped ones among them. */
  get sealedLength(): number {
    return this.#touched[this.#sealed].length;
  }

  /** `at` is where the count words of the row begin; it is not before the minute of the generation. */
  add(rows: Uint32Array, at: number, row: number, nowMs: number): void {
    const generation = this.#running;
    const word = at + generation * WORDS_PER_GENERATION;
    const count = rows[word] ?? 0;
    if (count === 0) this.#touched[generation].push(row);
    rows[word] = count + 1;
    rows[word + 1] = nowMs - this.#minuteMs[generation];
  }

  /** What was counted until now is sealed. What was sealed before must have been taken. */
  swap(minuteMs: number): void {
    this.#running = this.#sealed;
    this.#minuteMs[this.#running] = minuteMs;
  }

  /** The next row of which something sealed may be taken; -1 = none. */
  nextSealed(): number {
    return this.#touched[this.#sealed].shift();
  }

  takeSealed(rows: Uint32Array, at: number): TakenCount | null {
    return this.#take(rows, at, this.#sealed);
  }

  /** Everything there is in a row. */
  takeBoth(rows: Uint32Array, at: number): readonly TakenCount[] {
    if (rows[at] === 0 && rows[at + WORDS_PER_GENERATION] === 0) return NONE;
    return [this.#take(rows, at, this.#sealed) ?? [], this.#take(rows, at, this.#running) ?? []].flat();
  }

  /** The rows have other numbers now; `at` is where the count words of the first one begin. */
  listAnew(rows: Uint32Array, at: number, rowLength: number): void {
    for (const generation of [0, 1] as const) {
      const touched = this.#touched[generation];
      touched.clear();
      for (let row = 0, word = at + generation * WORDS_PER_GENERATION; word < rows.length; row++, word += rowLength) {
        if (rows[word] !== 0) touched.push(row);
      }
    }
  }

  #take(rows: Uint32Array, at: number, generation: 0 | 1): TakenCount | null {
    const word = at + generation * WORDS_PER_GENERATION;
    const count = rows[word] ?? 0;
    if (count === 0) return null;
    rows[word] = 0;
    const minuteMs = this.#minuteMs[generation];
    return { isSealed: generation === this.#sealed, minuteMs, count, lastAtMs: minuteMs + (rows[word + 1] ?? 0) };
  }
}

/** Row numbers, first in, first out. */
class RowList {
  #rows = new Uint32Array(FIRST_ROWS);
  #first = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#first;
  }

  push(row: number): void {
    if (this.#end === this.#rows.length) this.#makeRoom();
    this.#rows[this.#end++] = row;
  }

  /** -1 = empty. */
  shift(): number {
    if (this.#first === this.#end) return -1;
    const row = this.#rows[this.#first++] ?? 0;
    if (this.#first === this.#end) this.clear();
    return row;
  }

  clear(): void {
    this.#first = 0;
    this.#end = 0;
  }

  #makeRoom(): void {
    const before = this.#rows.subarray(this.#first, this.#end);
    if (before.length * 2 > this.#rows.length) this.#rows = new Uint32Array(this.#rows.length * 2);
    this.#rows.set(before);
    this.#end = before.length;
    this.#first = 0;
  }
}
