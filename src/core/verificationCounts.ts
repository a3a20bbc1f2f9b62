import { MAX_COUNT } from './bounds.ts';
import { VERDICT_CODES } from './verdictCodes.ts';

/** The tags of verifications that are not counted under their own tags. */
export const OTHER_TAGS = '["other"]';

/** Whose verifications are counted. */
export type CountedKey = Pick<VerificationCount, 'apiId' | 'keyId' | 'identityId'>;

/** Verifications of one key in one minute with the same tags. */
export interface VerificationCount {
  readonly minuteMs: number;
  readonly apiId: string;
  /** '' = an unknown key. */
  readonly keyId: string;
  /** '' = the key has no identity. */
  readonly identityId: string;
  /** JSON of a sorted list, '' = none. */
  readonly tags: string;
  /** By VERDICT_CODES. */
  readonly counts: readonly number[];
  /** Credits that these verifications took. */
  readonly credits: number;
  /** The time of the last of these verifications. */
  readonly lastAtMs: number;
}

/** Verifications of one key in one minute that were VALID, without tags. */
export interface ValidCount {
  readonly minuteMs: number;
  readonly count: number;
  readonly credits: number;
  readonly lastAtMs: number;
}

/** A sum of credits stops at MAX_COUNT: beyond it numbers are not exact, and no counter of credits holds more. */
export function addCredits(a: number, b: number): number {
  return Math.min(a + b, MAX_COUNT);
}

/** One list for each column: the same index in all lists is the same row. null: all values are '' or 0. */
interface ColumnLists {
  readonly fromMs: number;
  readonly apis: readonly string[];
  readonly keyIds: readonly string[];
  readonly lastUsesMs: readonly number[];
  readonly minutesMs: readonly number[] | null;
  /** Indexes into `apis`. */
  readonly apiIndexes: readonly number[] | null;
  readonly identityIds: readonly string[] | null;
  readonly tags: readonly string[] | null;
  /** By VERDICT_CODES. */
  readonly counts: readonly (readonly number[] | null)[];
  readonly credits: readonly number[] | null;
}

/** The only verdict that takes credits. They stand beside its count. */
export const VALID = VERDICT_CODES.indexOf('VALID');

/**
 * Counts that are written together, kept as columns: an object for each count takes twice as long. Times are relative to the
 * minute of the first count and apis are indexes, because small numbers are quick to write and read.
 */
export class CountColumns {
  readonly #apis: string[] = [];
  readonly #keyIds: string[] = [];
  readonly #lastUsesMs: number[] = [];
  readonly #minutesMs = new SparseList<number>(0);
  readonly #apiIndexes = new SparseList<number>(0);
  readonly #identityIds = new SparseList<string>('');
  readonly #tags = new SparseList<string>('');
  readonly #counts = VERDICT_CODES.map(() => new SparseList<number>(0));
  readonly #credits = new SparseList<number>(0);
  readonly #apiIndexOf = new Map<string, number>();
  #fromMs = 0;
  /** The api of the last row and its index. */
  #apiId = '';
  #apiIndex = 0;

  static of(counts: readonly VerificationCount[]): CountColumns {
    const lists = new CountColumns();
    for (const count of counts) lists.add(count);
    return lists;
  }

  get length(): number {
    return this.#keyIds.length;
  }

  add({ minuteMs, apiId, keyId, identityId, tags, counts, credits, lastAtMs }: VerificationCount): void {
    const i = this.#begin(minuteMs, apiId, keyId, lastAtMs);
    this.#identityIds.put(i, identityId);
    this.#tags.put(i, tags);
    for (const [code, count] of counts.entries()) this.#counts[code]?.put(i, count);
    this.#credits.put(i, credits);
  }

  /** Adds a row of a key that was only VALID, without tags: nearly all rows are like that. `identityId` '' = none. */
  addValid(key: CountedKey, { minuteMs, count, credits, lastAtMs }: ValidCount): void {
    const row = this.#begin(minuteMs, key.apiId, key.keyId, lastAtMs);
    this.#counts[VALID]?.put(row, count);
    this.#credits.put(row, credits);
    if (key.identityId !== '') this.#identityIds.put(row, key.identityId);
  }

  lists(): ColumnLists {
    const { length } = this;
    return {
      fromMs: this.#fromMs,
      apis: this.#apis,
      keyIds: this.#keyIds,
      lastUsesMs: this.#lastUsesMs,
      minutesMs: this.#minutesMs.upTo(length),
      apiIndexes: this.#apiIndexes.upTo(length),
      identityIds: this.#identityIds.upTo(length),
      tags: this.#tags.upTo(length),
      counts: this.#counts.map((list) => list.upTo(length)),
      credits: this.#credits.upTo(length),
    };
  }

  /** One object for each row. Slower than `lists`. */
  rows(): VerificationCount[] {
    const { fromMs, apis, keyIds, lastUsesMs, minutesMs, apiIndexes, identityIds, tags, counts, credits } =
      this.lists();
    return keyIds.map((keyId, i) => ({
      minuteMs: fromMs + (minutesMs?.[i] ?? 0),
      apiId: apis[apiIndexes?.[i] ?? 0] ?? '',
      keyId,
      identityId: identityIds?.[i] ?? '',
      tags: tags?.[i] ?? '',
      counts: counts.map((list) => list?.[i] ?? 0),
      credits: credits?.[i] ?? 0,
      lastAtMs: fromMs + (lastUsesMs[i] ?? 0),
    }));
  }

  /** Starts a row and answers its index. */
  #begin(minuteMs: number, apiId: string, keyId: string, lastAtMs: number): number {
    const i = this.#keyIds.length;
    if (i === 0) this.#fromMs = minuteMs;
    if (i === 0 || apiId !== this.#apiId) this.#turnTo(apiId);
    this.#keyIds.push(keyId);
    this.#lastUsesMs.push(small(lastAtMs - this.#fromMs));
    this.#minutesMs.put(i, small(minuteMs - this.#fromMs));
    this.#apiIndexes.put(i, this.#apiIndex);
    return i;
  }

  #turnTo(apiId: string): void {
    this.#apiId = apiId;
    const known = this.#apiIndexOf.get(apiId);
    this.#apiIndex = known ?? this.#apis.push(apiId) - 1;
    if (known === undefined) this.#apiIndexOf.set(apiId, this.#apiIndex);
  }
}

/** The runtime writes a list of 32-bit integers as text in a fraction of the time of other numbers. */
function small(value: number): number {
  const whole = value | 0;
  return whole === value ? whole : value;
}

/** A list in which most values are the default. These are filled in when another value comes. */
class SparseList<T> {
  readonly #default: T;
  readonly #values: T[] = [];

  constructor(defaultValue: T) {
    this.#default = defaultValue;
  }

  put(i: number, value: T): void {
    if (value === this.#default) return;
    this.#fill(i);
    this.#values.push(value);
  }

  upTo(length: number): readonly T[] | null {
    if (this.#values.length === 0) return null;
    this.#fill(length);
    return this.#values;
  }

  #fill(length: number): void {
    while (this.#values.length < length) this.#values.push(this.#default);
  }
}
