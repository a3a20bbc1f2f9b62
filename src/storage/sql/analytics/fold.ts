import { SPAN_MS, SPANS } from '../../port/analytics.ts';
import type { Params, Statement } from '../query/statement.ts';
import { addCounts, KEEP_LATER_USE } from './addCounts.ts';
import { LOG_COLUMNS, SPAN_NUMBER, SUMS } from './countColumns.ts';
import { addTo, FIRST_SUM, LAST_AT, type LogRow, type LogRows } from './countRows.ts';
import { RowInsert } from './rowInsert.ts';

/**
 * The fold: rows and slices of the log become sums by minute, hour and day. An adapter reads part of the log into LogRows,
 * runs the statements from here and removes what it has read, all in one transaction. So a fold that fails or is repeated
 * adds nothing twice.
 */

/** The sums that a plain row has (isPlain), and their indexes in a row. */
const PLAIN_SUMS: readonly string[] = ['valid', 'credits'];
const VALID = FIRST_SUM + SUMS.indexOf('valid');
const CREDITS = FIRST_SUM + SUMS.indexOf('credits');

const KEY = ['span', 'time_ms', 'api_id', 'key_id', 'identity_id', 'tags'];
const API_KEY = ['span', 'time_ms', 'api_id', 'tags'];
const ADD_TO_KEYS = new RowInsert('key_counts', [...KEY, ...SUMS], {
  onConflict: addCounts('key_counts', KEY.join(', ')),
});
const ADD_TO_APIS = new RowInsert('api_counts', [...API_KEY, ...SUMS], {
  onConflict: addCounts('api_counts', API_KEY.join(', ')),
});
const NOTE_USES = new RowInsert('key_uses', ['key_id', 'last_used_at_ms'], { onConflict: KEEP_LATER_USE });
const ADD_TO_LOG = new RowInsert('count_log', LOG_COLUMNS);

/** Nearly all rows are plain (isPlain): a third of the values is enough for them. */
const PLAIN = {
  identity_id: "''",
  tags: "''",
  ...Object.fromEntries(SUMS.filter((name) => !PLAIN_SUMS.includes(name)).map((name) => [name, '0'])),
};
const ADD_PLAIN_TO_KEYS = new RowInsert('key_counts', ['span', 'time_ms', 'api_id', 'key_id', ...PLAIN_SUMS], {
  constants: PLAIN,
  onConflict: addCounts('key_counts', KEY.join(', '), PLAIN_SUMS),
});
const ADD_PLAIN_TO_LOG = new RowInsert('count_log', ['minute_ms', 'api_id', 'key_id', 'last_at_ms', ...PLAIN_SUMS], {
  constants: PLAIN,
});

/** Writes rows back to the log: slices that were read become one row for each subject and minute. */
export function* logStatements(rows: LogRows): Generator<Statement> {
  const [plain, other]: [Params, Params] = [[], []];
  for (const row of rows.values()) {
    if (isPlain(row)) plain.push(row[0], row[1], row[2], row[LAST_AT], row[VALID] ?? 0, row[CREDITS] ?? 0);
    else other.push(...row);
  }
  yield* ADD_PLAIN_TO_LOG.statements(plain);
  yield* ADD_TO_LOG.statements(other);
}

/**
 * Adds rows to the sums and notes the last use of each key. Rows of one span and time come in the order of their table:
 * in any other order SQLite takes ten times as long.
 */
export function* foldStatements(rows: LogRows): Generator<Statement> {
  const sorted = rows.sorted();
  for (const span of SPANS) {
    for (const [timeMs, sums] of sumsByTime(sorted, SPAN_MS[span])) {
      yield* keyStatements([SPAN_NUMBER[span], timeMs], sums);
      yield* ADD_TO_APIS.statements(apiValues([SPAN_NUMBER[span], timeMs], sums));
    }
  }
  yield* NOTE_USES.statements(lastUses(sorted));
}

/** One row for each subject in each span of time; those of one time in the order of `sorted`. */
function sumsByTime(sorted: readonly LogRow[], spanMs: number): Map<number, LogRow[]> {
  const byTime = new Map<number, LogRow[]>();
  for (const row of sorted) {
    const timeMs = row[0] - (row[0] % spanMs);
    const sums = byTime.get(timeMs);
    const last = sums?.at(-1);
    if (sums === undefined) byTime.set(timeMs, [row]);
    else if (last !== undefined && isSameSubject(last, row)) sums[sums.length - 1] = sumOf(last, row);
    else sums.push(row);
  }
  return byTime;
}

function isSameSubject(a: LogRow, b: LogRow): boolean {
  return a[2] === b[2] && a[1] === b[1] && a[3] === b[3] && a[4] === b[4];
}

/** The subject of the first row, the sums of both. */
function sumOf(a: LogRow, b: LogRow): LogRow {
  const sum: LogRow = [...a];
  addRow(sum, b);
  return sum;
}

function addRow(sum: LogRow, row: LogRow): void {
  for (let i = FIRST_SUM; i < row.length; i++) addTo(sum, i, row[i] as number);
}

function* keyStatements([span, timeMs]: readonly [number, number], sums: readonly LogRow[]): Generator<Statement> {
  const [plain, other]: [Params, Params] = [[], []];
  for (const row of sums) {
    if (isPlain(row)) plain.push(span, timeMs, row[1], row[2], row[VALID] ?? 0, row[CREDITS] ?? 0);
    else other.push(span, timeMs, row[1], row[2], row[3], row[4], ...row.slice(FIRST_SUM));
  }
  yield* ADD_PLAIN_TO_KEYS.statements(plain);
  yield* ADD_TO_KEYS.statements(other);
}

/** Without identity and tags, and only VALID. */
function isPlain(row: LogRow): boolean {
  if (row[3] !== '' || row[4] !== '') return false;
  for (let i = FIRST_SUM; i < row.length; i++) if (i !== VALID && i !== CREDITS && row[i] !== 0) return false;
  return true;
}

/** The same sums, added up for each api and tag list. */
function apiValues([span, timeMs]: readonly [number, number], sums: readonly LogRow[]): Params {
  const ofApis = new Map<string, LogRow>();
  for (const row of sums) {
    const name = `${row[1]}\n${row[4]}`;
    const ofApi = ofApis.get(name);
    if (ofApi === undefined) ofApis.set(name, [...row]);
    else addRow(ofApi, row);
  }
  const sorted = [...ofApis].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.flatMap(([, row]) => [span, timeMs, row[1], row[4], ...row.slice(FIRST_SUM)]);
}

function lastUses(sorted: readonly LogRow[]): Params {
  const uses = new Map<string, number>();
  for (const row of sorted) uses.set(row[2], Math.max(uses.get(row[2]) ?? 0, row[LAST_AT]));
  // Verifications of unknown keys have no key.
  uses.delete('');
  return [...uses].flat();
}
