import { COUNTS } from './countColumns.ts';

/** What happens to a row that exists already: counts are added, and the later last use is kept. */

export function addCounts(table: string, key: string, counts: readonly string[] = COUNTS): string {
  const sums = counts.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return `ON CONFLICT (${key}) DO UPDATE SET ${sums.join(', ')}`;
}

/** A last use is replaced only by one that is at least this much later. That saves most writes. */
const USE_STEP_MS = 60_000;

export const KEEP_LATER_USE = `ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;
