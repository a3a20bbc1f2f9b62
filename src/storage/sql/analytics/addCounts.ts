import { MAX_COUNT } from '../../../core/bounds.ts';

/** What happens to a row that exists already: counts are added, and the later last use is kept. */

/** A sum of credits that exceeds what a column holds would make every fold fail. */
export function addCounts(table: string, key: readonly string[]): string {
  const credits = `${table}.credits + excluded.credits`;
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET count = ${table}.count + excluded.count,
    credits = CASE WHEN ${credits} > ${MAX_COUNT} THEN ${MAX_COUNT} ELSE ${credits} END`;
}

/** A last use is replaced only by one that is at least this much later. That saves most writes. */
const USE_STEP_MS = 60_000;

export const KEEP_LATER_USE = `ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;
