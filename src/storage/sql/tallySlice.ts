import type { Tally } from '../talliesPort.ts';
import { COUNTS } from './tallyColumns.ts';

/**
 * Tallies that were sent together, as one text: JSON of lists by column. Written down as one row it takes a tenth of what a row
 * for each tally does; rows are made of it behind.
 */
export interface TallySlice {
  readonly minute_ms: readonly number[];
  readonly api_id: readonly string[];
  readonly key_id: readonly string[];
  readonly last_at_ms: readonly number[];
  /** These, and the columns of the counts, are left out where nothing stands in them. */
  readonly identity_id?: readonly string[];
  readonly tags?: readonly string[];
  readonly [count: string]: readonly (string | number)[] | undefined;
}

export function packTallies(tallies: readonly Tally[]): string {
  const slice: Record<string, (string | number)[]> = {
    minute_ms: tallies.map(({ minuteMs }) => minuteMs),
    api_id: tallies.map(({ apiId }) => apiId),
    key_id: tallies.map(({ keyId }) => keyId),
    last_at_ms: tallies.map(({ lastAtMs }) => lastAtMs),
  };
  if (tallies.some(({ identityId }) => identityId !== '')) slice['identity_id'] = tallies.map((t) => t.identityId);
  if (tallies.some(({ tags }) => tags !== '')) slice['tags'] = tallies.map((t) => t.tags);
  for (const [code, name] of COUNTS.entries()) {
    if (tallies.some(({ counts }) => counts[code] !== 0)) slice[name] = tallies.map(({ counts }) => counts[code] ?? 0);
  }
  return JSON.stringify(slice);
}
