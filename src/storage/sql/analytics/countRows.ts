import { COUNTS } from './countColumns.ts';
import type { CountSlice } from './packedCounts.ts';

/** By LOG_COLUMNS: minute, api, key, identity, tags, last use, counts. */
export type LogRow = [number, string, string, string, string, number, ...number[]];

export const LAST_AT = 5;
export const FIRST_COUNT = 6;
const NO_COUNTS = COUNTS.map(() => 0);

/** What slices and rows of the log say, as one row for each subject and minute. */
export class LogRows {
  readonly #rows = new Map<string, LogRow>();
  /** Characters of what tells the rows from each other: some 70 each, and their tags. */
  size = 0;

  addSlice(slice: CountSlice): void {
    const { from_ms: fromMs, apis, key_id: keys, last_at_ms: lastUses } = slice;
    const { minute_ms: minutes, api: places, identity_id: identities, tags } = slice;
    const counts = COUNTS.map((name) => slice[name] as readonly number[] | undefined);
    for (const [i, keyId] of keys.entries()) {
      const minuteMs = fromMs + (minutes?.[i] ?? 0);
      const row = this.#rowOf(minuteMs, apis[places?.[i] ?? 0] ?? '', keyId, identities?.[i] ?? '', tags?.[i] ?? '');
      row[LAST_AT] = Math.max(row[LAST_AT], fromMs + (lastUses[i] ?? 0));
      for (const [code, column] of counts.entries()) if (column !== undefined) addTo(row, code, column[i] ?? 0);
    }
  }

  addRow([minuteMs, apiId, keyId, identityId, tags, lastAtMs, ...counts]: LogRow): void {
    const row = this.#rowOf(minuteMs, apiId, keyId, identityId, tags);
    row[LAST_AT] = Math.max(row[LAST_AT], lastAtMs);
    for (const [code, count] of counts.entries()) addTo(row, code, count);
  }

  /** By api, key, identity and tags, then by minute. */
  sorted(): LogRow[] {
    // Names are compared without a call for each comparison; what they are put together with sorts before all else.
    return [...this.#rows.keys()]
      .sort()
      .map((name) => this.#rows.get(name))
      .filter((row) => row !== undefined);
  }

  #rowOf(minuteMs: number, apiId: string, keyId: string, identityId: string, tags: string): LogRow {
    const name = `${apiId}\n${keyId}\n${identityId}\n${tags}\n${minuteMs}`;
    let row = this.#rows.get(name);
    if (row !== undefined) return row;
    row = [minuteMs, apiId, keyId, identityId, tags, 0, ...NO_COUNTS];
    this.#rows.set(name, row);
    this.size += name.length;
    return row;
  }
}

function addTo(row: LogRow, code: number, count: number): void {
  row[FIRST_COUNT + code] = (row[FIRST_COUNT + code] as number) + count;
}
