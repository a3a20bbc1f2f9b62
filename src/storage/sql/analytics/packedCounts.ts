import type { CountColumns } from '../../../core/verificationCounts.ts';
import { COUNTS } from './countColumns.ts';

/**
 * Counts that were sent together, as one text: JSON of lists by column. Written down as one row it takes a tenth of what a row
 * for each count does; rows are made of it behind.
 */
export interface CountSlice {
  /** All times are told from here on. */
  readonly from_ms: number;
  readonly apis: readonly string[];
  readonly key_id: readonly string[];
  readonly last_at_ms: readonly number[];
  /** These, and the columns of the counts, are left out where nothing but '' or 0 stands in them. */
  readonly minute_ms?: readonly number[];
  /** The place among `apis`. */
  readonly api?: readonly number[];
  readonly identity_id?: readonly string[];
  readonly tags?: readonly string[];
  readonly [column: string]: readonly (string | number)[] | number | undefined;
}

export function packCounts(counts: CountColumns): string {
  const { fromMs, apis, keyIds, lastUsesMs, minutesMs, places, identityIds, tags, counts: byCode } = counts.lists();
  const slice: Record<string, unknown> = { from_ms: fromMs, apis, key_id: keyIds, last_at_ms: lastUsesMs };
  if (minutesMs !== null) slice['minute_ms'] = minutesMs;
  if (places !== null) slice['api'] = places;
  if (identityIds !== null) slice['identity_id'] = identityIds;
  if (tags !== null) slice['tags'] = tags;
  for (const [code, list] of byCode.entries()) if (list !== null) slice[COUNTS[code] ?? ''] = list;
  return JSON.stringify(slice);
}
