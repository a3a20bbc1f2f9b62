import type { Params } from '../sql/statement.ts';
import { COUNTS, LOG_COLUMNS } from '../sql/tallyColumns.ts';
import { placeholders } from '../sql/statement.ts';
import type { TallySlice } from '../sql/tallySlice.ts';

/** Slices that become rows of the log at once; their rows are held in memory meanwhile. */
export const UNPACK_SLICES = 2_500;

export const OLDEST_SLICES = `SELECT number, body FROM tally_slices ORDER BY number LIMIT ${UNPACK_SLICES}`;
export const INSERT_LOG_ROW = `INSERT INTO tally_log (${LOG_COLUMNS.join(', ')}) VALUES (${placeholders(LOG_COLUMNS.length)})`;

interface LogRow {
  readonly subject: readonly (string | number)[];
  lastAtMs: number;
  readonly counts: number[];
}

/** Rows of the log, one for each subject, that say what slices say. */
export function rowsOf(slices: readonly string[]): Params[] {
  const rows = new Map<string, LogRow>();
  for (const text of slices) addSlice(rows, JSON.parse(text) as TallySlice);
  return Array.from(rows.values(), ({ subject, lastAtMs, counts }) => [...subject, lastAtMs, ...counts]);
}

function addSlice(rows: Map<string, LogRow>, slice: TallySlice): void {
  const { minute_ms: minutes, api_id: apis, key_id: keys, last_at_ms: lastUses, identity_id: identities, tags } = slice;
  const counts = COUNTS.map((name) => slice[name]);
  for (const [i, minuteMs] of minutes.entries()) {
    const subject = [minuteMs, apis[i] ?? '', keys[i] ?? '', identities?.[i] ?? '', tags?.[i] ?? ''];
    const name = subject.join('\n');
    let row = rows.get(name);
    if (row === undefined) rows.set(name, (row = { subject, lastAtMs: 0, counts: COUNTS.map(() => 0) }));
    row.lastAtMs = Math.max(row.lastAtMs, lastUses[i] ?? 0);
    for (const [code, column] of counts.entries()) {
      if (column !== undefined) row.counts[code] = (row.counts[code] ?? 0) + Number(column[i] ?? 0);
    }
  }
}
