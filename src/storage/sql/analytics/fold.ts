import { SPAN_MS, SPANS } from '../../port/analytics.ts';
import type { Params, Statement } from '../query/statement.ts';
import { addCounts, KEEP_LATER_USE } from './addCounts.ts';
import { LOG_COLUMNS, type LogRow, SPAN_NUMBER, SUMS } from './countColumns.ts';
import { addSums, LAST_AT, type LogRows } from './countRows.ts';
import { RowInsert } from './rowInsert.ts';

/**
 * The fold: rows and slices of the log become sums by minute, hour and day. An adapter reads part of the log into LogRows,
 * runs the statements from here and removes what it has read, all in one transaction. So a fold that fails or is repeated
 * adds nothing twice.
 */

/** The primary keys of the sums. */
export const SUM_KEYS = {
  key_verdicts: ['span', 'time_ms', 'api_id', 'key_id', 'identity_id', 'tags', 'code'],
  api_verdicts: ['span', 'time_ms', 'api_id', 'tags', 'code'],
} as const;

function addTo(table: keyof typeof SUM_KEYS): RowInsert {
  return new RowInsert(table, [...SUM_KEYS[table], ...SUMS], addCounts(table, SUM_KEYS[table]));
}

const ADD_TO_KEYS = addTo('key_verdicts');
const ADD_TO_APIS = addTo('api_verdicts');
const NOTE_USES = new RowInsert('key_uses', ['key_id', 'last_used_at_ms'], KEEP_LATER_USE);
const ADD_TO_LOG = new RowInsert('verdict_log', LOG_COLUMNS);

/** Writes rows back to the log: slices that were read become one row for each subject, code and minute. */
export function logStatements(rows: LogRows): Iterable<Statement> {
  return ADD_TO_LOG.statements([...rows.values()].flat());
}

/**
 * Adds rows to the sums and notes the last use of each key. Rows of one span and time come in the order of their table:
 * in any other order SQLite takes ten times as long.
 */
export function* foldStatements(rows: LogRows): Generator<Statement> {
  const sorted = rows.sorted();
  for (const span of SPANS) {
    for (const [timeMs, sums] of sumsByTime(sorted, SPAN_MS[span])) {
      const when = [SPAN_NUMBER[span], timeMs];
      yield* ADD_TO_KEYS.statements(
        sums.flatMap(([, api, key, identity, tags, code, , count, credits]) => [
          ...when,
          api,
          key,
          identity,
          tags,
          code,
          count,
          credits,
        ]),
      );
      yield* ADD_TO_APIS.statements(
        sumsByApi(sums).flatMap(([, api, , , tags, code, , count, credits]) => [
          ...when,
          api,
          tags,
          code,
          count,
          credits,
        ]),
      );
    }
  }
  yield* NOTE_USES.statements(lastUses(sorted));
}

/** One row for each subject and code in each span of time; those of one time in the order of `sorted`. */
function sumsByTime(sorted: readonly LogRow[], spanMs: number): Map<number, LogRow[]> {
  const byTime = new Map<number, LogRow[]>();
  for (const row of sorted) {
    const timeMs = row[0] - (row[0] % spanMs);
    const sums = byTime.get(timeMs);
    const last = sums?.at(-1);
    if (sums === undefined) byTime.set(timeMs, [[...row]]);
    else if (last !== undefined && isSameVerdict(last, row)) addSums(last, row);
    else sums.push([...row]);
  }
  return byTime;
}

function isSameVerdict(a: LogRow, b: LogRow): boolean {
  return a[2] === b[2] && a[5] === b[5] && a[1] === b[1] && a[3] === b[3] && a[4] === b[4];
}

/** The same sums, added up for each api, tag list and code. */
function sumsByApi(sums: readonly LogRow[]): LogRow[] {
  const ofApis = new Map<string, LogRow>();
  for (const row of sums) {
    const name = `${row[1]}\n${row[4]}\n${row[5]}`;
    const ofApi = ofApis.get(name);
    if (ofApi === undefined) ofApis.set(name, [...row]);
    else addSums(ofApi, row);
  }
  return [...ofApis].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function lastUses(sorted: readonly LogRow[]): Params {
  const uses = new Map<string, number>();
  for (const row of sorted) uses.set(row[2], Math.max(uses.get(row[2]) ?? 0, row[LAST_AT]));
  // Verifications of unknown keys have no key.
  uses.delete('');
  return [...uses].flat();
}
