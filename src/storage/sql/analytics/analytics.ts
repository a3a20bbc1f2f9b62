import { MAX_COUNT } from '../../../core/bounds.ts';
import type { CountColumns } from '../../../core/verificationCounts.ts';
import type { Analytics, AnalyticsQuery, AnalyticsRow, Span } from '../../port/analytics.ts';
import { StorageUnavailable } from '../../port/storage.ts';
import { CODES, SPAN_NUMBER } from './countColumns.ts';
import { isOfApi, SUM_KEYS, sumStatement, type Unfolded } from './fold.ts';
import { placeholders, type SqlReader, type Statement } from '../query/statement.ts';
import { findAny } from '../query/queries.ts';

/** The largest number of rows that one step of pruning removes. */
const PRUNE_STEP = 1000;
/** Last uses that one step checks. */
const USES_STEP = 10_000;

/** How an adapter writes counts, and reads counts that are not folded yet. */
export interface CountWriter {
  /** Adds all counts or none, and a batch only once. */
  append(counts: CountColumns, batch: number): Promise<void>;
  /** Makes unfolded counts readable for the next statement. `isOfApi`: that statement asks only about whole apis. */
  unfolded(isOfApi: boolean): Promise<Unfolded>;
  /** See Analytics.fold. */
  fold(): Promise<boolean>;
  /** Returns how many rows were removed. */
  remove(statement: Statement): Promise<number>;
}

/** Sums are kept for each key and for each api: a question about a whole api reads few rows. */
export class SqlAnalytics implements Analytics {
  readonly #reader: SqlReader;
  readonly #writer: CountWriter;

  constructor(reader: SqlReader, writer: CountWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  add(counts: CountColumns, batch: number): Promise<void> {
    return this.#writer.append(counts, batch);
  }

  fold(): Promise<boolean> {
    return this.#writer.fold();
  }

  async sum(query: AnalyticsQuery): Promise<readonly AnalyticsRow[]> {
    const rows = await this.#reader.scan<SumRow>(sumStatement(query, await this.#writer.unfolded(isOfApi(query))));
    return rows.map((row) => ({
      timeMs: row.time_ms ?? null,
      keyId: row.key_id ?? null,
      identityId: row.identity_id ?? null,
      ...(row.external_id == null ? {} : { externalId: row.external_id }),
      tags: row.tags ?? null,
      counts: CODES.map((name) => Number(row[name] ?? 0)),
      credits: Math.min(Number(row['credits'] ?? 0), MAX_COUNT),
    }));
  }

  async tagLists(apiId: string, dayMs: number, limit: number): Promise<readonly string[]> {
    const rows = await this.#reader.scan<{ tags: string }>({
      sql: `SELECT DISTINCT tags FROM api_verdicts
        WHERE span = ${SPAN_NUMBER.day} AND time_ms = $1 AND api_id = $2 AND tags <> '' LIMIT ${limit}`,
      params: [dayMs, apiId],
    });
    return rows.map(({ tags }) => tags);
  }

  async prune(span: Span, untilMs: number): Promise<boolean> {
    let isDone = true;
    for (const [table, columns] of Object.entries(SUM_KEYS)) {
      const key = columns.join(', ');
      const removed = await this.#writer.remove({
        sql: `DELETE FROM ${table} WHERE (${key}) IN
          (SELECT ${key} FROM ${table} WHERE span = $1 AND time_ms < $2 LIMIT ${PRUNE_STEP})`,
        params: [SPAN_NUMBER[span], untilMs],
      });
      isDone &&= removed < PRUNE_STEP;
    }
    return isDone;
  }

  async pruneUses(after: string | null): Promise<string | null> {
    const rows = await this.#reader.scan<{ key_id: string; is_gone: number }>({
      sql: `SELECT u.key_id, CASE WHEN k.id IS NULL THEN 1 ELSE 0 END AS is_gone
        FROM (SELECT key_id FROM key_uses WHERE key_id > $1 ORDER BY key_id LIMIT ${USES_STEP}) u
        LEFT JOIN keys k ON k.id = u.key_id ORDER BY u.key_id`,
      params: [after ?? ''],
    });
    const gone = rows.filter(({ is_gone }) => is_gone === 1).map(({ key_id }) => key_id);
    for (let i = 0; i < gone.length; i += PRUNE_STEP) {
      const ids = gone.slice(i, i + PRUNE_STEP);
      await this.#writer.remove({
        sql: `DELETE FROM key_uses WHERE key_id IN (${placeholders(ids.length)})`,
        params: ids,
      });
    }
    return rows.length < USES_STEP ? null : (rows.at(-1)?.key_id ?? null);
  }
}

interface SumRow extends Record<string, string | number | null | undefined> {
  time_ms?: number;
  key_id?: string;
  identity_id?: string;
  external_id?: string | null;
  tags?: string;
}

const BY_KEY = { select: 'SELECT key_id, last_used_at_ms FROM key_uses', column: 'key_id' };

/** When each of these keys was last verified. The embedded database has this in analytics.db, which can fail by itself. */
export async function readLastUses(reader: SqlReader, keyIds: readonly string[]): Promise<(number | null)[]> {
  try {
    const rows = await findAny<{ key_id: string; last_used_at_ms: number }>(reader, BY_KEY, keyIds);
    const uses = new Map(rows.map((row) => [row.key_id, row.last_used_at_ms]));
    return keyIds.map((id) => uses.get(id) ?? null);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageUnavailable(`The last uses of keys cannot be read (${reason}).`);
  }
}
