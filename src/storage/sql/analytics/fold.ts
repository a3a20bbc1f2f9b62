import { MAX_COUNT } from '../../../core/bounds.ts';
import { type AnalyticsOrder, type AnalyticsQuery, SPAN_MS, SPANS } from '../../port/analytics.ts';
import { CODES, LOG_COLUMNS, type LogRow, SPAN_NUMBER, SUMS, TOTALS, TOTALS_OF_ROW } from './countColumns.ts';
import { addSums, LAST_AT, type LogRows } from './packedCounts.ts';
import { type Params, placeholders, type Statement } from '../query/statement.ts';

/** A last use is replaced only by one that is at least this much later, which saves most writes. */
const USE_STEP_MS = 60_000;

const KEEP_LATER_USE = `ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
  WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`;

/** Inserts rows of numbers and texts into one table, many with one statement. */
class RowInsert {
  readonly #columns: number;
  readonly #sqlOf: (size: number) => string;
  /** Made on first use: a thread that never folds starts without them. */
  readonly #sqlOfSize = new Map<number, string>();

  /** `onConflict` says what happens to an existing row. One call must not have two rows with the same key. */
  constructor(table: string, columns: readonly string[], onConflict = '') {
    this.#columns = columns.length;
    this.#sqlOf = (size) => {
      const rows = Array.from({ length: size }, (_, i) => {
        return `(${placeholders(columns.length, i * columns.length + 1)})`;
      });
      return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows.join(', ')} ${onConflict}`;
    };
  }

  /** `values` holds the values of all rows, row after row. */
  *statements(values: Params): Generator<Statement> {
    const end = values.length / this.#columns;
    let next = 0;
    for (const size of SIZES) {
      if (next + size > end) continue;
      const sql = this.#sqlOfSize.get(size) ?? this.#sqlOf(size);
      this.#sqlOfSize.set(size, sql);
      for (; next + size <= end; next += size) {
        yield { sql, params: values.slice(next * this.#columns, (next + size) * this.#columns) };
      }
    }
  }
}

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

/** Writes rows back to the log: slices become one row for each subject, code and minute. */
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

/** One row for each subject and code in each span of time. Rows of the same time are in the order of `sorted`. */
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

/**
 * Merges a new row into an existing one: counts are added, and the later last use is kept. The sum of credits has a maximum: one that exceeds
 * its column would make every fold fail.
 */
function addCounts(table: string, key: readonly string[]): string {
  const credits = `${table}.credits + excluded.credits`;
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET count = ${table}.count + excluded.count,
    credits = CASE WHEN ${credits} > ${MAX_COUNT} THEN ${MAX_COUNT} ELSE ${credits} END`;
}

/** Rows of one statement. An engine prepares a statement once for each of these sizes, however many rows there are. */
const SIZES = [100, 10, 1] as const;

const GROUP_COLUMNS = { time: 'time_ms', key: 'key_id', identity: 'identity_id', tags: 'tags' } as const;

/** The largest number of times that a statement lists. */
const MAX_NAMED_TIMES = 2_000;

/** A sum of doubles is exact up to the maximum, and does not fail beyond it. */
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

/** One statement reads folded and unfolded counts, so a fold that commits meanwhile changes no sum. */
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
 * A condition that is always true, but makes the engine use the right index. The index by key has only hours and days. Other rows are found
 * by time, then api and key: each time is listed, because the rows of all other apis lie between two times.
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

/** Whether the few rows of apis can answer the question. */
export function isOfApi({ keyIds, identityIds, groupBy }: AnalyticsQuery): boolean {
  return keyIds === null && identityIds === null && !groupBy.includes('key') && !groupBy.includes('identity');
}

function subjectsOf(query: AnalyticsQuery, params: Params): { readonly subjects: string; readonly named: Named } {
  const named = (values: readonly string[] | null): string[] | null => {
    const from = params.length + 1;
    params.push(...(values ?? []));
    return values?.map((_, i) => `$${from + i}`) ?? null;
  };
  const among = (column: string, marks: readonly string[] | null): string => {
    if (marks === null) return '';
    return marks.length === 0 ? ' AND FALSE' : ` AND ${column} IN (${marks.join(', ')})`;
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
