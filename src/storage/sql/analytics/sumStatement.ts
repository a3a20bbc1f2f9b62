import { SPAN_MS, type AnalyticsOrder, type AnalyticsQuery } from '../../port/analytics.ts';
import type { Params, Statement } from '../query/statement.ts';
import { CODES, SPAN_NUMBER, TOTALS, TOTALS_OF_ROW } from './countColumns.ts';

const GROUP_COLUMNS = { time: 'time_ms', key: 'key_id', identity: 'identity_id', tags: 'tags' } as const;

/** The largest number of times that a statement lists. */
const MAX_NAMED_TIMES = 2_000;

/** A sum of such numbers is exact up to the maximum, and does not fail beyond it. */
const CREDITS = 'CAST(credits AS DOUBLE PRECISION)';

/** The subjects of a question, as parameters of its statement; null = all. */
export interface Named {
  /** The question is about whole apis. */
  readonly isOfApi: boolean;
  readonly keys: readonly string[] | null;
  readonly identities: readonly string[] | null;
}

/** A subquery that reads slices, with TOTALS; null = all slices are in the log. */
export type Unfolded = (named: Named) => string | null;

/** One statement reads what is folded and what is not: a fold that commits meanwhile changes no sum. */
export function sumStatement(query: AnalyticsQuery, unfolded: Unfolded): Statement {
  const params: Params = [query.fromMs, query.untilMs];
  const { subjects, named: asked } = subjectsOf(query, params);
  const columns = query.groupBy.map((group) => GROUP_COLUMNS[group]);
  const sums = TOTALS.map((name) => `coalesce(sum(${name === 'credits' ? CREDITS : name}), 0) AS ${name}`);
  const grouped = columns.length === 0 ? '' : ` GROUP BY ${columns.join(', ')}`;
  const slices = unfolded(asked);
  const all = [
    foldedRows(query),
    unfoldedRows(query, 'verdict_log', TOTALS_OF_ROW),
    ...(slices === null ? [] : [unfoldedRows(query, slices, TOTALS)]),
  ];
  const union = all.map((rows) => `${rows}${subjects}`).join(' UNION ALL ');
  const rows = `SELECT ${[...columns, ...sums].join(', ')} FROM (${union}) r${grouped}`;
  const [named, from] = query.groupBy.includes('identity')
    ? [', i.external_id', ' LEFT JOIN identities i ON i.id = t.identity_id']
    : ['', ''];
  const ordered = columns.length === 0 ? '' : ` ORDER BY ${[...orderTerms(query.order), ...columns].join(', ')}`;
  const limited = query.limit === undefined ? '' : ` LIMIT ${query.limit}`;
  return { sql: `SELECT t.*${named} FROM (${rows}) t${from}${ordered}${limited}`, params };
}

function foldedRows(query: AnalyticsQuery): string {
  const columns = rowColumns(query, 'time_ms', TOTALS_OF_ROW);
  const table = isOfApi(query) ? 'api_verdicts' : 'key_verdicts';
  return `SELECT ${columns} FROM ${table}
    WHERE span = ${SPAN_NUMBER[query.span]} AND time_ms >= $1 AND time_ms < $2${indexTerm(query)}`;
}

/**
 * A condition that is always true and makes the engine use the right index. The index by key has hours and days only. Other
 * rows are found by time, then api and key: each time is listed, because between two times are the rows of all other apis.
 */
function indexTerm({ span, apiId, keyIds, fromMs, untilMs }: AnalyticsQuery): string {
  if (keyIds !== null && span !== 'minute') return ' AND span > 0';
  const stepMs = SPAN_MS[span];
  const firstMs = Math.ceil(fromMs / stepMs) * stepMs;
  const count = Math.ceil((untilMs - firstMs) / stepMs);
  if (apiId === null || count < 1 || count > MAX_NAMED_TIMES) return '';
  return ` AND time_ms IN (${Array.from({ length: count }, (_, i) => firstMs + i * stepMs).join(', ')})`;
}

function unfoldedRows(query: AnalyticsQuery, source: string, totals: readonly string[]): string {
  const time = `minute_ms - minute_ms % ${SPAN_MS[query.span]}`;
  return `SELECT ${rowColumns(query, `${time} AS time_ms`, totals)} FROM ${source} WHERE ${time} >= $1 AND ${time} < $2`;
}

function rowColumns(query: AnalyticsQuery, time: string, totals: readonly string[]): string {
  return [time, ...(isOfApi(query) ? ['tags'] : ['key_id', 'identity_id', 'tags']), ...totals].join(', ');
}

/** Such a question is answered from the few rows of apis. */
export function isOfApi({ keyIds, identityIds, groupBy }: AnalyticsQuery): boolean {
  return keyIds === null && identityIds === null && !groupBy.includes('key') && !groupBy.includes('identity');
}

function subjectsOf(query: AnalyticsQuery, params: Params): { readonly subjects: string; readonly named: Named } {
  const named = (values: readonly string[] | null): string[] | null => {
    const from = params.length + 1;
    params.push(...(values ?? []));
    return values?.map((_, i) => `$${from + i}`) ?? null;
  };
  const among = (column: string, placeholders: readonly string[] | null): string => {
    if (placeholders === null) return '';
    return placeholders.length === 0 ? ' AND FALSE' : ` AND ${column} IN (${placeholders.join(', ')})`;
  };
  const apis = named(query.apiId === null ? null : [query.apiId]);
  const [keys, identities] = [named(query.keyIds), named(query.identityIds)];
  const subjects = `${among('api_id', apis)}${among('key_id', keys)}${among('identity_id', identities)}`;
  return { subjects, named: { isOfApi: isOfApi(query), keys, identities } };
}

function orderTerms(order: AnalyticsOrder | undefined): string[] {
  if (order === undefined) return [];
  const column = order.by === 'total' ? CODES.join(' + ') : order.by === 'time' ? 'time_ms' : order.by.toLowerCase();
  return [`${column} ${order.isDescending ? 'DESC' : 'ASC'}`];
}
