import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import {
  addCredits,
  type CountColumns,
  type CountedKey,
  type ValidCount,
  type VerificationCount,
} from '../../core/verificationCounts.ts';
import type { KeyEntry } from './entries.ts';

/** What analytics needs from the cache. Counts are kept next to the keys, where counting is cheapest. */
export interface KeyCounts {
  /** Counts a valid verification of the key, which took so many credits. False: the cache does not count it. */
  count(entry: KeyEntry, credits: number, nowMs: number): boolean;
  readonly generations: CountGenerations;
  /** Adds at most `limit` sealed counts. False: there are none. */
  takeSealed(into: CountColumns, limit: number): boolean;
  /** Called with the counts of a key when the key is dropped. */
  onDropped: (count: OpenCount, isSealed: boolean) => void;
}

/** Counts are added to the running generation. `swap` seals it; `KeyCounts.takeSealed` takes sealed counts out. */
interface CountGenerations {
  /** Counts that are sealed and not taken. Keys that were dropped since may be among them. */
  readonly sealedLength: number;
  /** Counts that are not sealed yet. */
  readonly runningLength: number;
  /** An empty generation is available for `swap`. */
  readonly canSwap: boolean;
  /** The next generation runs from this minute on. */
  swap(minuteMs: number): void;
}

const COLUMN = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, i])) as Readonly<Record<VerdictCode, number>>;

const VALID = COLUMN.VALID;

const NO_COUNTS: readonly number[] = VERDICT_CODES.map(() => 0);

type CountSubject = Pick<VerificationCount, 'minuteMs' | 'apiId' | 'keyId' | 'identityId' | 'tags'>;

/** A count that grows until it is taken to be written. */
export class OpenCount implements VerificationCount {
  readonly minuteMs: number;
  readonly apiId: string;
  readonly keyId: string;
  readonly identityId: string;
  readonly tags: string;
  readonly counts: number[] = NO_COUNTS.slice();
  credits = 0;
  lastAtMs = 0;
  isTaken = false;

  constructor({ minuteMs, apiId, keyId, identityId, tags }: CountSubject) {
    this.minuteMs = minuteMs;
    this.apiId = apiId;
    this.keyId = keyId;
    this.identityId = identityId;
    this.tags = tags;
  }

  static of(count: VerificationCount): OpenCount {
    const open = new OpenCount(count);
    open.addAll(count);
    return open;
  }

  static ofValid(key: CountedKey, { minuteMs, count, credits, lastAtMs }: ValidCount): OpenCount {
    const open = new OpenCount({ minuteMs, ...key, tags: '' });
    open.counts[VALID] = count;
    open.credits = credits;
    open.lastAtMs = lastAtMs;
    return open;
  }

  /** Nothing is added from now on. */
  take(): void {
    this.isTaken = true;
  }

  /** Adds one verification. */
  add(code: VerdictCode, credits: number, nowMs: number): void {
    const column = COLUMN[code];
    this.counts[column] = (this.counts[column] ?? 0) + 1;
    if (credits > 0) this.credits = addCredits(this.credits, credits);
    if (nowMs > this.lastAtMs) this.lastAtMs = nowMs;
  }

  /** Adds the credits of a verification that was counted before, at `usedAtMs`. */
  addCharged(credits: number, usedAtMs: number): void {
    this.credits = addCredits(this.credits, credits);
    this.lastAtMs = Math.max(this.lastAtMs, usedAtMs);
  }

  /** Adds what another count has counted. */
  addAll({ counts, credits, lastAtMs }: VerificationCount): void {
    for (const [column, count] of counts.entries()) this.counts[column] = (this.counts[column] ?? 0) + count;
    this.credits = addCredits(this.credits, credits);
    this.lastAtMs = Math.max(this.lastAtMs, lastAtMs);
  }
}

const FIRST_ROWS = 64;

/** One generation is running; two may wait to be written. */
const GENERATIONS = 3;
const WORDS_PER_GENERATION = 2;
/** Words of a row for its counts: for each generation, a count and a use. */
export const COUNT_WORDS = GENERATIONS * WORDS_PER_GENERATION;

/**
 * A use is the time of the last verification, in milliseconds from the minute on, and above it the credits that each counted
 * verification took. A generation lasts an hour at most, which leaves these bits free; the sign bit stays 0.
 */
const TIME_BITS = 22;
const TIME_MASK = 2 ** TIME_BITS - 1;
/** The largest number of credits of one verification that fits. */
export const MAX_PACKED_COST = 2 ** (31 - TIME_BITS) - 1;

/** The counts taken out of one row. */
interface TakenCount extends ValidCount {
  readonly isSealed: boolean;
}

/** The counts taken out of many rows, by row. */
interface TakenRows {
  readonly rows: Uint32Array;
  readonly minuteMs: number;
  /** 0 = the row was dropped and has no counts. */
  readonly counts: Uint32Array;
  readonly uses: Uint32Array;
}

/**
 * Counts how often the key of a packed row was valid, in words of the row itself: the row is in the processor's cache at that moment,
 * and the garbage collector has nothing to do. There are generations:
 *
 *   running --swap--> sealed --take, row by row--> empty, and can run again
 *
 * Counts are added only to the running one. Each has a list of the rows in which it is not 0; the list may contain dropped rows.
 *
 * A row counts verifications of one cost in a generation, that of the first one: nearly every key is always verified with the
 * same cost, and most have no credits. So credits need no space, which a row of two cache lines does not have.
 */
export class PackedCounts {
  readonly #touched: readonly RowList[] = Array.from({ length: GENERATIONS }, () => new RowList());
  readonly #minuteMs = new Float64Array(GENERATIONS);
  #running = 0;

  /** Rows to take, dropped ones among them. */
  get sealedLength(): number {
    let length = 0;
    for (let age = 1; age < GENERATIONS; age++) length += this.#list(this.#older(age)).length;
    return length;
  }

  /** Rows that have counted something since the last swap. */
  get runningLength(): number {
    return this.#list(this.#running).length;
  }

  /** An empty generation is available for `swap`. */
  get canSwap(): boolean {
    return this.#list(this.#older(GENERATIONS - 1)).length === 0;
  }

  /**
   * Counts a verification that took `cost` credits. `at` is where the count words of the row begin; `nowMs` is not before the
   * minute of the generation. False: the row counts verifications of another cost, or the cost is too large.
   */
  add(rows: Uint32Array, at: number, row: number, cost: number, nowMs: number): boolean {
    const generation = this.#running;
    const word = at + generation * WORDS_PER_GENERATION;
    const count = rows[word] ?? 0;
    const before = rows[word + 1] ?? 0;
    if (count === 0 ? cost > MAX_PACKED_COST : cost !== before >>> TIME_BITS) return false;
    const use = (cost << TIME_BITS) | (nowMs - (this.#minuteMs[generation] ?? 0));
    if (count === 0) this.#list(generation).push(row);
    rows[word] = count + 1;
    // Verdicts may be counted in another order than they were decided.
    if (count === 0 || use > before) rows[word + 1] = use;
    return true;
  }

  /** Seals the running generation. */
  swap(minuteMs: number): void {
    this.#running = this.#older(GENERATIONS - 1);
    this.#minuteMs[this.#running] = minuteMs;
  }

  /** Takes at most `limit` rows of the oldest sealed generation; null = nothing is sealed. `at`: the first count word of row 0. */
  takeSealed(rows: Uint32Array, at: number, rowLength: number, limit: number): TakenRows | null {
    for (let age = GENERATIONS - 1; age > 0; age--) {
      const generation = this.#older(age);
      const taken = this.#list(generation).shift(limit);
      if (taken.length === 0) continue;
      const counts = new Uint32Array(taken.length);
      const uses = new Uint32Array(taken.length);
      // The rows are far apart in memory. In a loop that does nothing else, the processor fetches many of them at a time.
      for (let i = 0, first = at + generation * WORDS_PER_GENERATION; i < taken.length; i++) {
        const word = first + (taken[i] ?? 0) * rowLength;
        counts[i] = rows[word] ?? 0;
        uses[i] = rows[word + 1] ?? 0;
        rows[word] = 0;
      }
      return { rows: taken, minuteMs: this.#minuteMs[generation] ?? 0, counts, uses };
    }
    return null;
  }

  /** All counts of a row, oldest first. */
  takeAll(rows: Uint32Array, at: number): readonly TakenCount[] {
    const taken: TakenCount[] = [];
    for (let age = GENERATIONS - 1; age >= 0; age--) {
      const count = this.#take(rows, at, this.#older(age));
      if (count !== null) taken.push(count);
    }
    return taken;
  }

  /** Lists the rows again after they got new numbers. `count`: the number of rows. `at`: the first count word of row 0. */
  listAnew(rows: Uint32Array, at: number, rowLength: number, count: number): void {
    for (const touched of this.#touched) touched.clear();
    for (let row = 0, word = at; row < count; row++, word += rowLength) {
      for (let generation = 0; generation < GENERATIONS; generation++) {
        if (rows[word + generation * WORDS_PER_GENERATION] !== 0) this.#list(generation).push(row);
      }
    }
  }

  /** 0 = the running one, 1 = the one that was sealed last. */
  #older(age: number): number {
    return (this.#running + GENERATIONS - age) % GENERATIONS;
  }

  #list(generation: number): RowList {
    return this.#touched[generation] as RowList;
  }

  #take(rows: Uint32Array, at: number, generation: number): TakenCount | null {
    const word = at + generation * WORDS_PER_GENERATION;
    const count = rows[word] ?? 0;
    if (count === 0) return null;
    rows[word] = 0;
    const minuteMs = this.#minuteMs[generation] ?? 0;
    return { isSealed: generation !== this.#running, ...validCount(minuteMs, count, rows[word + 1] ?? 0) };
  }
}

export function validCount(minuteMs: number, count: number, use: number): ValidCount {
  return { minuteMs, count, credits: count * (use >>> TIME_BITS), lastAtMs: minuteMs + (use & TIME_MASK) };
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
    if (this.#end === this.#rows.length) this.#growOrShift();
    this.#rows[this.#end++] = row;
  }

  /** At most so many. */
  shift(limit: number): Uint32Array {
    const end = Math.min(this.#end, this.#first + limit);
    const rows = this.#rows.slice(this.#first, end);
    this.#first = end;
    if (this.#first === this.#end) this.clear();
    return rows;
  }

  clear(): void {
    this.#first = 0;
    this.#end = 0;
  }

  #growOrShift(): void {
    const before = this.#rows.subarray(this.#first, this.#end);
    if (before.length * 2 > this.#rows.length) this.#rows = new Uint32Array(this.#rows.length * 2);
    this.#rows.set(before);
    this.#end = before.length;
    this.#first = 0;
  }
}
