import type { Statement } from 'bun:sqlite';

import { type Params, placeholders } from '../../sql/statement.ts';
import { COUNTS, LOG_COLUMNS, SPAN_NUMBER } from '../../sql/analytics/countColumns.ts';
import { addCounts, KEEP_LATER_USE } from '../../sql/analytics/addCounts.ts';
import type { CountSlice } from '../../sql/analytics/packedCounts.ts';
import { SPAN_MS, SPANS } from '../../port/analytics.ts';
import { FIRST_COUNT, LAST_AT, type LogRow, LogRows } from '../../sql/analytics/countRows.ts';

/**
 * Size of the rows of one step, some 30,000 without tags. The more, the fewer pages are written in all; but meanwhile appending
 * waits, which a crash would lose, in a thread that comes after the others.
 */
const MAX_STEP = 2_000_000;

const SLICES = 'SELECT number, body FROM tally_slices ORDER BY number';
const LOG = `SELECT number, ${LOG_COLUMNS.join(', ')} FROM tally_log ORDER BY number`;
const INSERT = `INSERT INTO tally_log (${LOG_COLUMNS.join(', ')}) VALUES (${placeholders(LOG_COLUMNS.length)})`;
const ADD_TO_KEY = adding('key_tallies', ['span', 'time_ms', 'api_id', 'key_id', 'identity_id', 'tags']);
const ADD_TO_API = adding('api_tallies', ['span', 'time_ms', 'api_id', 'tags']);
const NOTE_USE = `INSERT INTO key_uses (key_id, last_used_at_ms) VALUES ($1, $2) ${KEEP_LATER_USE}`;

function adding(table: string, key: readonly string[]): string {
  const columns = [...key, ...COUNTS];
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders(columns.length)})
    ${addCounts(table, key.join(', '))}`;
}

/** How the connection that writes is asked. */
export interface Connection {
  readonly statement: (sql: string) => Statement<unknown, Params>;
  readonly transaction: (work: () => void) => void;
}

/** Makes rows of the log of the oldest slices, one for each subject and minute. True: these were all. */
export function unpackSlices({ statement, transaction }: Connection, maxSize = MAX_STEP): boolean {
  let isAll = true;
  transaction(() => {
    const step = new Step(maxSize);
    step.takeSlices(statement);
    const insert = statement(INSERT);
    for (const row of step.rows.sorted()) insert.run(...row);
    statement('DELETE FROM tally_slices WHERE number <= $1').run(step.slicesUpTo);
    isAll = step.isAll;
  });
  return isAll;
}

/**
 * See CountWriter.fold. Rows are written in the order in which they stand in the tables: one key at a time, in any order, was
 * measured to take ten times as long. They are put together here and not by a statement, which sorts them three times.
 */
export function foldCounts({ statement, transaction }: Connection, maxSize = MAX_STEP): boolean {
  let isAll = true;
  transaction(() => {
    const step = new Step(maxSize);
    // What stands in the log is older.
    step.takeLog(statement);
    step.takeSlices(statement);
    const sorted = step.rows.sorted();
    for (const span of SPANS) {
      for (const [timeMs, sums] of sumsByTime(sorted, SPAN_MS[span])) {
        addSums(statement, SPAN_NUMBER[span], timeMs, sums);
      }
    }
    noteUses(statement(NOTE_USE), sorted);
    statement('DELETE FROM tally_log WHERE number <= $1').run(step.logUpTo);
    statement('DELETE FROM tally_slices WHERE number <= $1').run(step.slicesUpTo);
    isAll = step.isAll;
  });
  return isAll;
}

/** What one transaction takes, the oldest first, until it has enough. */
class Step {
  readonly rows = new LogRows();
  readonly #maxSize: number;
  logUpTo = 0;
  slicesUpTo = 0;
  isAll = true;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  takeLog(statement: Connection['statement']): void {
    for (const values of statement(LOG).iterate() as IterableIterator<Record<string, string | number>>) {
      if (this.#hasEnough()) return;
      this.rows.addRow(LOG_COLUMNS.map((name) => values[name]) as LogRow);
      this.logUpTo = Number(values['number']);
    }
  }

  takeSlices(statement: Connection['statement']): void {
    for (const { number, body } of statement(SLICES).iterate() as IterableIterator<{ number: number; body: string }>) {
      if (this.#hasEnough()) return;
      this.rows.addSlice(JSON.parse(body) as CountSlice);
      this.slicesUpTo = number;
    }
  }

  #hasEnough(): boolean {
    if (this.rows.size >= this.#maxSize) this.isAll = false;
    return !this.isAll;
  }
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
  addRow(sum, b);
  return sum;
}

function addRow(sum: LogRow, row: LogRow): void {
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
    else addRow(ofApi, row);
  }
  const addToApi = statement(ADD_TO_API);
  for (const [, [, apiId, , , tags, , ...counts]] of [...ofApis].sort(([a], [b]) => (a < b ? -1 : 1))) {
    addToApi.run(span, timeMs, apiId, tags, ...counts);
  }
}

function noteUses(note: Statement<unknown, Params>, sorted: readonly LogRow[]): void {
  const lastUses = new Map<string, number>();
  for (const row of sorted) lastUses.set(row[2], Math.max(lastUses.get(row[2]) ?? 0, row[LAST_AT]));
  lastUses.delete('');
  for (const [keyId, lastAtMs] of lastUses) note.run(keyId, lastAtMs);
}
