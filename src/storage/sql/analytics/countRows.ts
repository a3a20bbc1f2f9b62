import { MAX_COUNT, MAX_TAG_LIST_BYTES } from '../../../core/bounds.ts';
import { OTHER_TAGS } from '../../../core/verificationCounts.ts';
import { LOG_COLUMNS, type LogRow } from './countColumns.ts';
import { type CountSlice, verdictsOf } from './packedCounts.ts';

export const LAST_AT = 6;
const COUNT = 7;
const CREDITS = 8;

/** Adds up slices and rows of the log: one row for each subject, code and minute. */
export class LogRows {
  readonly #rows = new Map<string, LogRow>();
  /** Characters of the names of all rows: about 70 for each row, and its tags. */
  size = 0;

  get length(): number {
    return this.#rows.size;
  }

  addSlice(slice: CountSlice): void {
    for (const row of verdictsOf(slice)) this.#add(row);
  }

  /** A row as the database returns it, with LOG_COLUMNS. */
  addRow(values: Readonly<Record<string, string | number>>): void {
    this.#add(LOG_COLUMNS.map((name) => values[name]) as LogRow);
  }

  /** In any order. */
  values(): Iterable<LogRow> {
    return this.#rows.values();
  }

  /** By api, key, identity, tags and code, then by minute. */
  sorted(): LogRow[] {
    // Sorting texts needs no call of a function for each comparison. The separator sorts before every character of a name.
    return [...this.#rows.keys()]
      .sort()
      .map((name) => this.#rows.get(name))
      .filter((row) => row !== undefined);
  }

  #add(row: LogRow): void {
    const [minuteMs, apiId, keyId, identityId, tags, code] = row;
    const name = `${apiId}\n${keyId}\n${identityId}\n${tags}\n${code}\n${minuteMs}`;
    const known = this.#rows.get(name);
    if (known !== undefined) {
      known[LAST_AT] = Math.max(known[LAST_AT], row[LAST_AT]);
      addSums(known, row);
    } else if (isTooLong(tags)) {
      row[4] = OTHER_TAGS;
      this.#add(row);
    } else {
      this.#rows.set(name, row);
      this.size += name.length;
    }
  }
}

/** PostgreSQL puts no longer text into an index: one such row would make every fold fail. */
function isTooLong(tags: string): boolean {
  return tags.length * 3 > MAX_TAG_LIST_BYTES && Buffer.byteLength(tags) > MAX_TAG_LIST_BYTES;
}

/** Adds what is summed of a row. A sum stops at the largest number that is exact. */
export function addSums(sum: LogRow, row: LogRow): void {
  sum[COUNT] = Math.min(sum[COUNT] + row[COUNT], MAX_COUNT);
  sum[CREDITS] = Math.min(sum[CREDITS] + row[CREDITS], MAX_COUNT);
}
