import { COUNTS } from './countColumns.ts';

/** What becomes of a row that is inserted where one stands already, in the sums and among the last uses of keys. */

export function addCounts(table: string, key: string): string {
  const sums = COUNTS.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return `ON CONFLICT (${key}) DO UPDATE SET ${sums.join(', ')}`;
}

/** A use is written down again only when it is so much later. */
const USE_STEP_MS = 60_000;

export const KEEP_LATER_USE = `ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;
