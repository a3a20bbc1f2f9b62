import { MAX_COUNT, MAX_TAG_LIST_BYTES } from '../../../core/bounds.ts';
import {
  addCredits,
  type CountColumns,
  OTHER_TAGS,
  VALID,
  type VerificationCount,
} from '../../../core/verificationCounts.ts';
import { codeOf, CODES, LOG_COLUMNS, type LogRow, memberOf } from './countColumns.ts';

/**
 * Counts that were added together, as one JSON text with a list for each column. Writing it as one row takes a tenth of the time of a row
 * for each count.
 */
export interface CountSlice {
  /** All times are relative to this one. */
  readonly from_ms: number;
  readonly apis: readonly string[];
  readonly key_id: readonly string[];
  readonly last_at_ms: readonly number[];
  /** Each list from here on, and each of TOTALS, is left out if all its values are '' or 0. */
  readonly minute_ms?: readonly number[];
  /** Indexes into `apis`. */
  readonly api?: readonly number[];
  readonly identity_id?: readonly string[];
  readonly tags?: readonly string[];
  readonly [column: string]: readonly (string | number)[] | number | undefined;
}

export function packCounts(counts: CountColumns): string {
  const lists = counts.lists();
  const { fromMs, apis, keyIds, lastUsesMs, minutesMs, apiIndexes, identityIds, tags, credits } = lists;
  const slice: Record<string, unknown> = { from_ms: fromMs, apis, key_id: keyIds, last_at_ms: lastUsesMs };
  if (minutesMs !== null) slice['minute_ms'] = minutesMs;
  if (apiIndexes !== null) slice['api'] = apiIndexes;
  if (identityIds !== null) slice['identity_id'] = identityIds;
  if (tags !== null) slice['tags'] = tags;
  if (credits !== null) slice['credits'] = credits;
  for (const [code, list] of lists.counts.entries()) if (list !== null) slice[memberOf(code)] = list;
  return JSON.stringify(slice);
}

/** A row of the log for each verdict that a row of the slice counts. Credits without a verdict, which a reservation took, are a row too. */
export function* verdictsOf(slice: CountSlice): Generator<LogRow> {
  const { from_ms: fromMs, apis, key_id: keys, last_at_ms: lastUses } = slice;
  const { minute_ms: minutes, api: apiIndexes, identity_id: identities, tags } = slice;
  const counted = Object.entries(slice).flatMap(([member, list]): (readonly [number, readonly number[]])[] => {
    const code = codeOf(member);
    return code === null ? [] : [[code, list as readonly number[]]];
  });
  const credits = slice['credits'] as readonly number[] | undefined;
  for (const [i, keyId] of keys.entries()) {
    const minuteMs = fromMs + (minutes?.[i] ?? 0);
    const lastAtMs = fromMs + (lastUses[i] ?? 0);
    const apiId = apis[apiIndexes?.[i] ?? 0] ?? '';
    const row = (code: number, count: number, taken: number): LogRow => [
      minuteMs,
      apiId,
      keyId,
      identities?.[i] ?? '',
      tags?.[i] ?? '',
      code,
      lastAtMs,
      count,
      taken,
    ];
    let taken = credits?.[i] ?? 0;
    for (const [code, counts] of counted) {
      const count = counts[i] ?? 0;
      if (count === 0) continue;
      yield row(code, count, code === VALID ? taken : 0);
      if (code === VALID) taken = 0;
    }
    if (taken > 0) yield row(VALID, 0, taken);
  }
}

type Sum = VerificationCount & { readonly counts: number[]; credits: number };

/** The counts added up for each api, without keys: most questions need only these and skip the long text. */
export function sumByApi(counts: CountColumns): VerificationCount[] {
  const { fromMs, apis, keyIds, minutesMs, apiIndexes, tags, counts: byCode, credits } = counts.lists();
  const sums = new Map<string, Sum>();
  let [minute, apiIndex, tagged] = [-1, -1, ''];
  let sum: Sum | undefined;
  for (let i = 0; i < keyIds.length; i++) {
    const [minuteHere, apiHere, taggedHere] = [minutesMs?.[i] ?? 0, apiIndexes?.[i] ?? 0, tags?.[i] ?? ''];
    // Neighbours nearly always have the same minute and api.
    if (sum === undefined || minuteHere !== minute || apiHere !== apiIndex || taggedHere !== tagged) {
      [minute, apiIndex, tagged] = [minuteHere, apiHere, taggedHere];
      const name = `${minute} ${apiIndex} ${tagged}`;
      sum = sums.get(name) ?? emptySum(fromMs + minute, apis[apiIndex] ?? '', tagged);
      sums.set(name, sum);
    }
    for (const [code, list] of byCode.entries()) {
      if (list !== null) sum.counts[code] = (sum.counts[code] ?? 0) + (list[i] ?? 0);
    }
    if (credits !== null) sum.credits = addCredits(sum.credits, credits[i] ?? 0);
  }
  return [...sums.values()];
}

function emptySum(minuteMs: number, apiId: string, tags: string): Sum {
  const counts = CODES.map(() => 0);
  return { minuteMs, apiId, keyId: '', identityId: '', tags, counts, credits: 0, lastAtMs: minuteMs };
}

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
    // Sorting plain texts needs no function call for each comparison. The separator sorts before every character of a name.
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

/** PostgreSQL cannot put a longer text into an index: one such row would make every fold fail. */
function isTooLong(tags: string): boolean {
  return tags.length * 3 > MAX_TAG_LIST_BYTES && Buffer.byteLength(tags) > MAX_TAG_LIST_BYTES;
}

/** Adds the sums of a row. A sum stops at the largest exact number. */
export function addSums(sum: LogRow, row: LogRow): void {
  sum[COUNT] = Math.min(sum[COUNT] + row[COUNT], MAX_COUNT);
  sum[CREDITS] = Math.min(sum[CREDITS] + row[CREDITS], MAX_COUNT);
}
