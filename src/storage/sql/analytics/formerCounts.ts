import type { Row } from '../../../model/columns.ts';
import type { Statement } from '../query/statement.ts';
import { VALID } from '../../../core/verificationCounts.ts';
import { FORMER_CODES, LOG_COLUMNS, SUMS } from './countColumns.ts';
import { SUM_KEYS } from './fold.ts';

/**
 * The form of counts before schema version 2 of analytics.db, and 3 of PostgreSQL: key_counts, api_counts and count_log had a column for
 * each code. Migrations and imports turn them into rows of verdicts.
 */

type FormerTable = 'key_counts' | 'api_counts' | 'count_log';

/** The table that has the rows now, and the columns that both tables have. */
export const FORMER_TABLES: Readonly<Record<FormerTable, { readonly into: string; readonly same: readonly string[] }>> =
  {
    key_counts: { into: 'key_verdicts', same: SUM_KEYS.key_verdicts.filter((column) => column !== 'code') },
    api_counts: { into: 'api_verdicts', same: SUM_KEYS.api_verdicts.filter((column) => column !== 'code') },
    count_log: {
      into: 'verdict_log',
      same: LOG_COLUMNS.filter((column) => column !== 'code' && !SUMS.includes(column)),
    },
  };

/** A row for each counted code, and one for credits that a reservation took. */
function copied(from: FormerTable, where = 'TRUE'): string {
  const { into, same } = FORMER_TABLES[from];
  const rows = FORMER_CODES.map((column, code) => {
    const [credits, counted] = code === VALID ? ['credits', '(valid > 0 OR credits > 0)'] : ['0', `${column} > 0`];
    return `SELECT ${same.join(', ')}, ${code}, ${column}, ${credits} FROM ${from} WHERE ${where} AND ${counted}`;
  });
  return `INSERT INTO ${into} (${[...same, 'code', ...SUMS].join(', ')}) ${rows.join(' UNION ALL ')}`;
}

interface Time {
  readonly span: number;
  readonly time_ms: number;
}

/** Is told the progress of a table: `30 %`. */
export type OnPart = (table: string, done: string) => void;

/**
 * The statements that copy all rows into existing tables, a minute, hour or day at a time: so new rows come nearly in their order, and the
 * progress is known. The caller passes the rows of each statement back.
 */
export function* copyCounts(onPart: OnPart): Generator<Statement, void, readonly unknown[]> {
  for (const from of ['key_counts', 'api_counts'] as const) {
    const times: Time[] = [];
    for (let last: Time = { span: -1, time_ms: 0 }; ; times.push(last)) {
      const [next] = yield {
        sql: `SELECT span, time_ms FROM ${from} WHERE (span, time_ms) > ($1, $2) ORDER BY span, time_ms LIMIT 1`,
        params: [last.span, last.time_ms],
      };
      if (next === undefined) break;
      last = next as Time;
    }
    const sql = copied(from, 'span = $1 AND time_ms = $2');
    for (const [i, { span, time_ms }] of times.entries()) {
      yield { sql, params: [span, time_ms] };
      const [before, now] = [i, i + 1].map((part) => Math.floor((10 * part) / times.length));
      if (now !== before) onPart(FORMER_TABLES[from].into, `${now}0 %`);
    }
  }
  yield { sql: copied('count_log'), params: [] };
}

/** The rows of verdicts for one former row, by its columns. */
export function* verdictsOfRow(row: Row): Generator<Row> {
  const same = Object.fromEntries(
    Object.entries(row).filter(([column]) => !FORMER_CODES.includes(column) && column !== 'credits'),
  );
  for (const [code, column] of FORMER_CODES.entries()) {
    const count = row[column] ?? 0;
    const credits = code === VALID ? (row['credits'] ?? 0) : 0;
    if (count !== 0 || credits !== 0) yield { ...same, code, count, credits };
  }
}
