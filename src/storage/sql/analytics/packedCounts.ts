import { addCredits, type CountColumns, VALID, type VerificationCount } from '../../../core/verificationCounts.ts';
import { CODES, codeOf, type LogRow, memberOf } from './countColumns.ts';

/**
 * Counts that were added together, as one JSON text with a list for each column. To write it as one row takes a tenth of the
 * time of a row for each count.
 */
export interface CountSlice {
  /** All times are relative to this one. */
  readonly from_ms: number;
  readonly apis: readonly string[];
  readonly key_id: readonly string[];
  readonly last_at_ms: readonly number[];
  /** A list from here on, and each of TOTALS, is left out when all its values are '' or 0. */
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

/** A row of the log for each verdict that a row of the slice counts. Credits alone are a row too: a reservation took them. */
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
    // Neighbours are nearly always of the same minute and api.
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
