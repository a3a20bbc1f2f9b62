import { MAX_COUNT } from '../../../core/bounds.ts';
import { SUMS } from './countColumns.ts';

/** What happens to a row that exists already: counts are added, and the later last use is kept. */

export function addCounts(table: string, key: string, columns: readonly string[] = SUMS): string {
  const sums = columns.map((name) => {
    const sum = `${table}.${name} + excluded.${name}`;
    return `${name} = ${name === 'credits' ? upToMaximum(sum) : sum}`;
  });
  return `ON CONFLICT (${key}) DO UPDATE SET ${sums.join(', ')}`;
}

/** A sum that exceeds what a column holds would make every fold fail. */
function upToMaximum(sum: string): string {
  return `CASE WHEN ${sum} > ${MAX_COUNT} THEN ${MAX_COUNT} ELSE ${sum} END`;
}

/** A last use is replaced only by one that is at least this much later. That saves most writes. */
const USE_STEP_MS = 60_000;

export const KEEP_LATER_USE = `ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;
