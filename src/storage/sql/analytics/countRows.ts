import { MAX_COUNT, MAX_TAG_LIST_BYTES } from '../../../core/bounds.ts';
import { OTHER_TAGS } from '../../../core/verificationCounts.ts';
import { LOG_COLUMNS, SUMS } from './countColumns.ts';
import type { CountSlice } from './packedCounts.ts';

/** By LOG_COLUMNS: minute, api, key, identity, tags, last use, sums. */
export type LogRow = [number, string, string, string, string, number, ...number[]];

export const LAST_AT = 5;
export const FIRST_SUM = 6;
const NO_SUMS = SUMS.map(() => 0);

/** Adds up slices and rows of the log: one row for each subject and minute. */
export class LogRows {
  readonly #rows = new Map<string, LogRow>();
  /** Characters of the names of all rows: about 70 for each row, and its tags. */
  size = 0;

  get length(): number {
    return this.#rows.size;
  }

  addSlice(slice: CountSlice): void {
    const { from_ms: fromMs, apis, key_id: keys, last_at_ms: lastUses } = slice;
    const { minute_ms: minutes, api: apiIndexes, identity_id: identities, tags } = slice;
    const columns = SUMS.map((name) => slice[name] as readonly number[] | undefined);
    for (const [i, keyId] of keys.entries()) {
      const minuteMs = fromMs + (minutes?.[i] ?? 0);
      const row = this.#rowOf(
        minuteMs,
        apis[apiIndexes?.[i] ?? 0] ?? '',
        keyId,
        identities?.[i] ?? '',
        tags?.[i] ?? '',
      );
      row[LAST_AT] = Math.max(row[LAST_AT], fromMs + (lastUses[i] ?? 0));
      for (const [n, column] of columns.entries()) if (column !== undefined) addTo(row, FIRST_SUM + n, column[i] ?? 0);
    }
  }

  /** A row as the database returns it, with LOG_COLUMNS. */
  addRow(values: Readonly<Record<string, string | number>>): void {
    const [minuteMs, apiId, keyId, identityId, tags, lastAtMs, ...sums] = LOG_COLUMNS.map(
      (name) => values[name],
    ) as LogRow;
    const row = this.#rowOf(minuteMs, apiId, keyId, identityId, tags);
    row[LAST_AT] = Math.max(row[LAST_AT], lastAtMs);
    for (const [n, value] of sums.entries()) addTo(row, FIRST_SUM + n, value);
  }

  /** In any order. */
  values(): Iterable<LogRow> {
    return this.#rows.values();
  }

  /** By api, key, identity and tags, then by minute. */
  sorted(): LogRow[] {
    // Sorting texts needs no call of a function for each comparison. The separator sorts before every character of a name.
    return [...this.#rows.keys()]
      .sort()
      .map((name) => this.#rows.get(name))
      .filter((row) => row !== undefined);
  }

  #rowOf(minuteMs: number, apiId: string, keyId: string, identityId: string, tags: string): LogRow {
    const name = `${apiId}\n${keyId}\n${identityId}\n${tags}\n${minuteMs}`;
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    if (isTooLong(tags)) return this.#rowOf(minuteMs, apiId, keyId, identityId, OTHER_TAGS);
    const row: LogRow = [minuteMs, apiId, keyId, identityId, tags, 0, ...NO_SUMS];
    this.#rows.set(name, row);
    this.size += name.length;
    return row;
  }
}

/** PostgreSQL puts no longer text into an index: one such row would make every fold fail. */
function isTooLong(tags: string): boolean {
  return tags.length * 3 > MAX_TAG_LIST_BYTES && Buffer.byteLength(tags) > MAX_TAG_LIST_BYTES;
}

/** Adds to a column that is a sum, which stops at the largest number that is exact. */
export function addTo(row: LogRow, column: number, value: number): void {
  row[column] = Math.min((row[column] as number) + value, MAX_COUNT);
}
