import type { Statement } from 'bun:sqlite';

import { type Params, placeholders } from '../sql/statement.ts';
import { COUNTS, LOG_COLUMNS } from '../sql/tallyColumns.ts';
import type { TallySlice } from '../sql/tallySlice.ts';

/** Slices that become rows of the log at once; their rows are held in memory meanwhile. */
const UNPACK_SLICES = 2_500;

const OLDEST = `SELECT number, body FROM tally_slices ORDER BY number LIMIT ${UNPACK_SLICES}`;
const INSERT = `INSERT INTO tally_log (${LOG_COLUMNS.join(', ')}) VALUES (${placeholders(LOG_COLUMNS.length)})`;

/** How the connection that writes is asked. */
interface Connection {
  readonly statement: (sql: string) => Statement<unknown, Params>;
  readonly transaction: (work: () => void) => void;
}

/** See TallyWriter.unpack. */
export function unpackSlices({ statement, transaction }: Connection): boolean {
  const rows = new Map<string, LogRow>();
  let [count, lastNumber] = [0, 0];
  for (const { number, body } of statement(OLDEST).iterate() as IterableIterator<{ number: number; body: string }>) {
    addSlice(rows, JSON.parse(body) as TallySlice);
    count++;
    lastNumber = number;
  }
  transaction(() => {
    const insert = statement(INSERT);
    for (const row of rows.values()) insert.run(...row);
    statement('DELETE FROM tally_slices WHERE number <= ?').run(lastNumber);
  });
  return count < UNPACK_SLICES;
}

/** By LOG_COLUMNS. */
type LogRow = [number, string, string, string, string, number, ...number[]];
const LAST_AT = 5;
const NO_COUNTS = COUNTS.map(() => 0);

function addSlice(rows: Map<string, LogRow>, slice: TallySlice): void {
  const { minute_ms: minutes, api_id: apis, key_id: keys, last_at_ms: lastUses, identity_id: identities, tags } = slice;
  const counts = COUNTS.map((name) => slice[name] as readonly number[] | undefined);
  for (const [i, minuteMs] of minutes.entries()) {
    const [apiId, keyId] = [apis[i] ?? '', keys[i] ?? ''];
    const [identityId, tagsText] = [identities?.[i] ?? '', tags?.[i] ?? ''];
    const name = `${keyId}\n${minuteMs}\n${apiId}\n${identityId}\n${tagsText}`;
    let row = rows.get(name);
    if (row === undefined) rows.set(name, (row = [minuteMs, apiId, keyId, identityId, tagsText, 0, ...NO_COUNTS]));
    row[LAST_AT] = Math.max(row[LAST_AT], lastUses[i] ?? 0);
    for (const [code, column] of counts.entries()) {
      const place = LAST_AT + 1 + code;
      if (column !== undefined) row[place] = (row[place] as number) + (column[i] ?? 0);
    }
  }
}
