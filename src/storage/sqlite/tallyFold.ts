import type { Statement } from 'bun:sqlite';

import { type Params, placeholders } from '../sql/statement.ts';
import { COUNTS, LOG_COLUMNS, SPAN_NUMBER, USE_STEP_MS } from '../sql/tallyColumns.ts';
import type { TallySlice } from '../sql/tallySlice.ts';
import { SPAN_MS, SPANS } from '../talliesPort.ts';
import { FIRST_COUNT, LAST_AT, type LogRow, LogRows } from './logRows.ts';

/** Rows that slices and the log become at once: the more, the fewer are written. They are held in memory. */
const MAX_ROWS = 300_000;

const SLICES = 'SELECT number, body FROM tally_slices ORDER BY number';
const LOG = `SELECT number, ${LOG_COLUMNS.join(', ')} FROM tally_log ORDER BY number LIMIT $1`;
const INSERT = `INSERT INTO tally_log (${LOG_COLUMNS.join(', ')}) VALUES (${placeholders(LOG_COLUMNS.length)})`;
const ADD_TO_KEY = adding('key_tallies', ['span', 'time_ms', 'api_id', 'key_id', 'identity_id', 'tags']);
const ADD_TO_API = adding('api_tallies', ['span', 'time_ms', 'api_id', 'tags']);
const NOTE_USE = `INSERT INTO key_uses (key_id, last_used_at_ms) VALUES ($1, $2)
  ON CONFLICT DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;

function adding(table: string, key: readonly string[]): string {
  const columns = [...key, ...COUNTS];
  const sums = COUNTS.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders(columns.length)})
    ON CONFLICT DO UPDATE SET ${sums.join(', ')}`;
}

/** How the connection that writes is asked. */
export interface Connection {
  readonly statement: (sql: string) => Statement<unknown, Params>;
  readonly transaction: (work: () => void) => void;
}

/** The oldest rows that were taken, up to which number, and whether there may be more. */
interface Taken {
  readonly upTo: number;
  readonly isAll: boolean;
}

/** See TallyWriter.unpack. */
export function unpackSlices({ statement, transaction }: Connection, maxRows = MAX_ROWS): boolean {
  const rows = new LogRows();
  const { upTo, isAll } = takeSlices(statement(SLICES), rows, maxRows);
  transaction(() => {
    const insert = statement(INSERT);
    for (const row of rows.sorted()) insert.run(...row);
    statement('DELETE FROM tally_slices WHERE number <= $1').run(upTo);
  });
  return isAll;
}

/**
 * See TallyWriter.fold. Rows are written in the order in which they stand in the tables: one key at a time, in any order, was
 * measured to take ten times as long. They are put together here and not by a statement, which sorts them three times.
 */
export function foldTallies({ statement, transaction }: Connection, maxRows = MAX_ROWS): boolean {
  const rows = new LogRows();
  const slices = takeSlices(statement(SLICES), rows, maxRows);
  const log = takeLog(statement(LOG), rows, maxRows);
  const sorted = rows.sorted();
  if (sorted.length === 0) return true;
  transaction(() => {
    for (const span of SPANS) {
      for (const [timeMs, sums] of sumsByTime(sorted, SPAN_MS[span])) {
        addSums(statement, SPAN_NUMBER[span], timeMs, sums);
      }
    }
    noteUses(statement(NOTE_USE), sorted);
    statement('DELETE FROM tally_slices WHERE number <= $1').run(slices.upTo);
    statement('DELETE FROM tally_log WHERE number <= $1').run(log.upTo);
  });
  return slices.isAll && log.isAll;
}

function takeSlices(oldest: Statement<unknown, Params>, rows: LogRows, maxRows: number): Taken {
  let upTo = 0;
  for (const { number, body } of oldest.iterate() as IterableIterator<{ number: number; body: string }>) {
    if (rows.size >= maxRows) return { upTo, isAll: false };
    rows.addSlice(JSON.parse(body) as TallySlice);
    upTo = number;
  }
  return { upTo, isAll: true };
}

function takeLog(oldest: Statement<unknown, Params>, rows: LogRows, maxRows: number): Taken {
  const logged = oldest.values(maxRows) as [number, ...LogRow][];
  for (const [, ...row] of logged) rows.addRow(row);
  return { upTo: logged.at(-1)?.[0] ?? 0, isAll: logged.length < maxRows };
}

/** One row for each subject and span of time, by time; those of one time in the order of the rows. */
function sumsByTime(sorted: readonly LogRow[], spanMs: number): Map<number, LogRow[]> {
  const byTime = new Map<number, LogRow[]>();
  for (const row of sorted) {
    const timeMs = row[0] - (row[0] % spanMs);
    const sums = byTime.get(timeMs);
    if (sums === undefined) {
      byTime.set(timeMs, [row]);
      continue;
    }
    const last = sums.at(-1);
    if (last !== undefined && isSameSubject(last, row)) sums[sums.length - 1] = sumOf(last, row);
    else sums.push(row);
  }
  return byTime;
}

function isSameSubject(a: LogRow, b: LogRow): boolean {
  return a[2] === b[2] && a[1] === b[1] && a[3] === b[3] && a[4] === b[4];
}

/** The subject of the first, the counts of both. */
function sumOf(a: LogRow, b: LogRow): LogRow {
  const sum: LogRow = [...a];
  addCounts(sum, b);
  return sum;
}

function addCounts(sum: LogRow, row: LogRow): void {
  for (let i = FIRST_COUNT; i < row.length; i++) sum[i] = (sum[i] as number) + (row[i] as number);
}

function addSums(statement: Connection['statement'], span: number, timeMs: number, sums: readonly LogRow[]): void {
  const ofApis = new Map<string, LogRow>();
  const addToKey = statement(ADD_TO_KEY);
  const params: Params = [span, timeMs];
  for (const row of sums) {
    for (let i = 1; i < LAST_AT; i++) params[i + 1] = row[i] ?? '';
    for (let i = FIRST_COUNT; i < row.length; i++) params[i] = row[i] ?? 0;
    addToKey.run(...params);
    const name = `${row[1]}\n${row[4]}`;
    const ofApi = ofApis.get(name);
    if (ofApi === undefined) ofApis.set(name, [...row]);
    else addCounts(ofApi, row);
  }
  const addToApi = statement(ADD_TO_API);
  for (const [, apiId, , , tags, , ...counts] of ofApis.values()) addToApi.run(span, timeMs, apiId, tags, ...counts);
}

function noteUses(note: Statement<unknown, Params>, sorted: readonly LogRow[]): void {
  const lastUses = new Map<string, number>();
  for (const row of sorted) lastUses.set(row[2], Math.max(lastUses.get(row[2]) ?? 0, row[LAST_AT]));
  lastUses.delete('');
  for (const [keyId, lastAtMs] of lastUses) note.run(keyId, lastAtMs);
}
