import { MAX_TAG_LIST_BYTES } from '../../../core/bounds.ts';
import { OTHER_TAGS } from '../../../core/verificationCounts.ts';
import { SPAN_MS, SPANS } from '../../port/analytics.ts';
import type { Statement } from '../../sql/statement.ts';
import { COUNTS, SPAN_NUMBER } from '../../sql/analytics/countColumns.ts';
import { addCounts, KEEP_LATER_USE } from '../../sql/analytics/addCounts.ts';

const SPAN_ROWS = SPANS.map((span) => `SELECT ${SPAN_NUMBER[span]} AS span, ${SPAN_MS[span]} AS length_ms`);
/** An index takes no longer ones: a row of an older program that has one would end each fold. */
const TAGS = `CASE WHEN octet_length(tags) > ${MAX_TAG_LIST_BYTES} THEN '${OTHER_TAGS}' ELSE tags END AS tags`;
const SUMS = COUNTS.map((name) => `sum(${name}) AS ${name}`).join(', ');

/** A row of the log. */
export interface LogPlace {
  readonly key_id: string;
  readonly number: number;
}

/** Rows of the log that are folded in one transaction. */
export interface FoldStep {
  /** The row before the first of them. */
  readonly after: LogPlace;
  /** The last of them; null = all behind it. */
  readonly upTo: LogPlace | null;
}

/**
 * Bring rows of the log into the sums, by minute, hour and day at once, and remove them from the log.
 *
 * Rows come in the order in which they stand in the tables: neighbours are written together.
 */
export function foldStatements({ after, upTo }: FoldStep): Statement[] {
  const bounds = upTo === null ? [after] : [after, upTo];
  const params = bounds.flatMap(({ key_id, number }) => [key_id, number]);
  const where = `(key_id, number) > ($1, $2)${upTo === null ? '' : ' AND (key_id, number) <= ($3, $4)'}`;
  return [
    sumsInto('key_tallies', ['api_id', 'key_id', 'identity_id', 'tags'], where),
    sumsInto('api_tallies', ['api_id', 'tags'], where),
    `INSERT INTO key_uses (key_id, last_used_at_ms)
      SELECT key_id, max(last_at_ms) FROM tally_log WHERE ${where} AND key_id <> '' GROUP BY key_id ORDER BY key_id
      ${KEEP_LATER_USE}`,
    `DELETE FROM tally_log WHERE ${where}`,
  ].map((sql) => ({ sql, params }));
}

function sumsInto(table: string, group: readonly string[], where: string): string {
  const columns = group.join(', ');
  const key = `span, time_ms, ${columns}`;
  const subjects = group.map((column) => (column === 'tags' ? TAGS : column)).join(', ');
  const log = `SELECT minute_ms, ${subjects}, ${COUNTS.join(', ')} FROM tally_log WHERE ${where}`;
  const minutes = `SELECT minute_ms, ${columns}, ${SUMS} FROM (${log}) l GROUP BY minute_ms, ${columns}`;
  return `INSERT INTO ${table} (${key}, ${COUNTS.join(', ')})
    SELECT span, minute_ms - minute_ms % length_ms AS time_ms, ${columns}, ${SUMS}
    FROM (${minutes}) m CROSS JOIN (${SPAN_ROWS.join(' UNION ALL ')}) s
    WHERE true GROUP BY 1, 2, ${columns} ORDER BY 1, 2, ${columns}
    ${addCounts(table, key)}`;
}
