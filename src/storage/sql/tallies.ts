import { VERDICT_CODES } from '../../core/verdictCodes.ts';
import {
  type Span,
  type Tallies,
  type Tally,
  type TallyOrder,
  type TallyQuery,
  type TallyRow,
} from '../talliesPort.ts';
import { type Params, placeholders, type SqlReader, type Statement } from './statement.ts';

/** Columns of the counts, in the order of VERDICT_CODES. */
const COUNTS = VERDICT_CODES.map((code) => code.toLowerCase());

const SPAN_MS: Readonly<Record<Span, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const SPAN_NUMBER: Readonly<Record<Span, number>> = { minute: 0, hour: 1, day: 2 };
/** Rows of one statement. */
const ROWS_PER_STATEMENT = 100;
/** Rows that one step of pruning removes at the most. */
const PRUNE_STEP = 1000;
/** A use is written down again only when it is so much later. */
const USE_STEP_MS = 60_000;

/** How an engine writes tallies: all statements in one transaction, and none of them a second time for the same batch. */
export interface TallyWriter {
  run(statements: readonly Statement[], batch: number): Promise<void>;
  /** Answers how many rows were removed. */
  remove(statement: Statement): Promise<number>;
}

/**
 * Verifications of keys by span, and those of apis: what is asked of a whole api is read from few rows. A span's start is
 * counted in UTC.
 */
export class SqlTallies implements Tallies {
  readonly #reader: SqlReader;
  readonly #writer: TallyWriter;

  constructor(reader: SqlReader, writer: TallyWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  add(tallies: readonly Tally[], batch: number): Promise<void> {
    const statements: Statement[] = [];
    for (const span of ['minute', 'hour', 'day'] as const) {
      const ofKeys = summed(tallies, span, ({ apiId, keyId, identityId, tags }) => [apiId, keyId, identityId, tags]);
      const ofApis = summed(tallies, span, ({ apiId, tags }) => [apiId, tags]);
      statements.push(
        ...upserts('key_tallies', ['span', 'time_ms', 'api_id', 'key_id', 'identity_id', 'tags'], ofKeys),
      );
      statements.push(...upserts('api_tallies', ['span', 'time_ms', 'api_id', 'tags'], ofApis));
    }
    statements.push(...uses(tallies));
    return this.#writer.run(statements, batch);
  }

  async sum(query: TallyQuery): Promise<readonly TallyRow[]> {
    const rows = await this.#reader.scan<SumRow>(sumStatement(query));
    return rows.map((row) => ({
      timeMs: row.time_ms ?? null,
      keyId: row.key_id ?? null,
      identityId: row.identity_id ?? null,
      ...(row.external_id == null ? {} : { externalId: row.external_id }),
      tags: row.tags ?? null,
      counts: COUNTS.map((name) => Number(row[name] ?? 0)),
    }));
  }

  async prune(span: Span, untilMs: number): Promise<boolean> {
    let isDone = true;
    for (const [table, key] of [
      ['key_tallies', 'span, time_ms, api_id, key_id, identity_id, tags'],
      ['api_tallies', 'span, time_ms, api_id, tags'],
    ]) {
      const removed = await this.#writer.remove({
        sql: `DELETE FROM ${table} WHERE (${key}) IN
          (SELECT ${key} FROM ${table} WHERE span = $1 AND time_ms < $2 LIMIT ${PRUNE_STEP})`,
        params: [SPAN_NUMBER[span], untilMs],
      });
      isDone &&= removed < PRUNE_STEP;
    }
    return isDone;
  }
}

interface SumRow extends Record<string, string | number | null | undefined> {
  time_ms?: number;
  key_id?: string;
  identity_id?: string;
  external_id?: string | null;
  tags?: string;
}

/** One row for each group, because a statement may touch a row once only; in one order, so that nodes do not block each other. */
function summed(tallies: readonly Tally[], span: Span, groupOf: (tally: Tally) => readonly string[]): Params[] {
  const rows = new Map<string, { key: Params; counts: number[] }>();
  for (const tally of tallies) {
    const timeMs = Math.floor(tally.minuteMs / SPAN_MS[span]) * SPAN_MS[span];
    const key = [SPAN_NUMBER[span], timeMs, ...groupOf(tally)];
    const name = JSON.stringify(key);
    const row = rows.get(name);
    if (row === undefined) rows.set(name, { key, counts: [...tally.counts] });
    else for (const [i, count] of tally.counts.entries()) row.counts[i] = (row.counts[i] ?? 0) + count;
  }
  const ordered = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ordered.map(([, { key, counts }]) => [...key, ...counts]);
}

function upserts(table: string, key: readonly string[], rows: readonly Params[]): Statement[] {
  const set = COUNTS.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  return chunks(rows).map((chunk) => ({
    sql: `INSERT INTO ${table} (${[...key, ...COUNTS].join(', ')}) VALUES ${valueRows(chunk)}
      ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${set}`,
    params: chunk.flat(),
  }));
}

function uses(tallies: readonly Tally[]): Statement[] {
  const last = new Map<string, number>();
  for (const { keyId, lastAtMs } of tallies) {
    if (keyId !== '') last.set(keyId, Math.max(last.get(keyId) ?? 0, lastAtMs));
  }
  const rows = [...last].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([keyId, atMs]) => [keyId, atMs]);
  return chunks(rows).map((chunk) => ({
    sql: `INSERT INTO key_uses (key_id, last_used_at_ms) VALUES ${valueRows(chunk)}
      ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms
      WHERE excluded.last_used_at_ms >= key_uses.last_used_at_ms + ${USE_STEP_MS}`,
    params: chunk.flat(),
  }));
}

function chunks<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / ROWS_PER_STATEMENT);
  return Array.from({ length: count }, (_, i) => rows.slice(i * ROWS_PER_STATEMENT, (i + 1) * ROWS_PER_STATEMENT));
}

function valueRows(rows: readonly Params[]): string {
  const width = rows[0]?.length ?? 0;
  return rows.map((_, i) => `(${placeholders(width, i * width + 1)})`).join(', ');
}

const GROUP_COLUMNS = { time: 'time_ms', key: 'key_id', identity: 'identity_id', tags: 'tags' } as const;

/** By key over the primary key, by api over api_tallies or the index key_tallies_of_api. */
function sumStatement(query: TallyQuery): Statement {
  const params: Params = [SPAN_NUMBER[query.span], query.fromMs, query.untilMs];
  const isOfApi =
    query.keyIds === null &&
    query.identityIds === null &&
    !query.groupBy.includes('key') &&
    !query.groupBy.includes('identity');
  let where = 'span = $1 AND time_ms >= $2 AND time_ms < $3';
  const among = (column: string, values: readonly string[] | null): void => {
    if (values === null) return;
    where +=
      values.length === 0 ? ' AND FALSE' : ` AND ${column} IN (${placeholders(values.length, params.length + 1)})`;
    params.push(...values);
  };
  among('api_id', query.apiId === null ? null : [query.apiId]);
  among('key_id', query.keyIds);
  among('identity_id', query.identityIds);
  const columns = query.groupBy.map((group) => GROUP_COLUMNS[group]);
  const sums = COUNTS.map((name) => `coalesce(sum(${name}), 0) AS ${name}`);
  const grouped = columns.length === 0 ? '' : ` GROUP BY ${columns.join(', ')}`;
  const rows = `SELECT ${[...columns, ...sums].join(', ')} FROM ${isOfApi ? 'api_tallies' : 'key_tallies'} WHERE ${where}${grouped}`;
  const [named, from] = query.groupBy.includes('identity')
    ? [', i.external_id', ' LEFT JOIN identities i ON i.id = t.identity_id']
    : ['', ''];
  const ordered = columns.length === 0 ? '' : ` ORDER BY ${[...orderTerms(query.order), ...columns].join(', ')}`;
  const limited = query.limit === undefined ? '' : ` LIMIT ${query.limit}`;
  return { sql: `SELECT t.*${named} FROM (${rows}) t${from}${ordered}${limited}`, params };
}

function orderTerms(order: TallyOrder | undefined): string[] {
  if (order === undefined) return [];
  const column = order.by === 'total' ? COUNTS.join(' + ') : order.by === 'time' ? 'time_ms' : order.by.toLowerCase();
  return [`${column} ${order.isDescending ? 'DESC' : 'ASC'}`];
}
