import type { Database } from 'bun:sqlite';

import type { CountColumns } from '../../../core/verificationCounts.ts';
import { StorageUnavailable } from '../../port/storage.ts';
import type { CountWriter } from '../../sql/analytics/analytics.ts';
import { CODES } from '../../sql/analytics/countColumns.ts';
import type { Unfolded } from '../../sql/analytics/fold.ts';
import { packCounts, sumByApi } from '../../sql/analytics/packedCounts.ts';
import type { Statement } from '../../sql/query/statement.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { LazyThread } from '../thread/threadClient.ts';

/** Writes analytics in their own thread: no spend waits for it, and verification continues if it fails. */
export class SqliteCountWriter implements CountWriter {
  readonly #db: Database;
  readonly #thread: LazyThread;

  /** `db` is used for reading only. */
  constructor(db: Database, thread: LazyThread) {
    this.#db = db;
    this.#thread = thread;
  }

  async append(counts: CountColumns): Promise<void> {
    await this.#write([{ sql: ADD_SLICE, params: [packApis(counts), packCounts(counts)] }]);
  }

  /** A question about keys cannot read slices, so they become rows of the log first. */
  async unfolded(isOfApi: boolean): Promise<Unfolded> {
    if (isOfApi) return () => APIS_OF_SLICES;
    await this.#try(async () => {
      if (this.#db.query('SELECT 1 FROM count_slices LIMIT 1').get() === null) return;
      const thread = await this.#thread.get();
      while (!(await thread.call('unpackCounts')));
    });
    return () => null;
  }

  fold(): Promise<boolean> {
    return this.#try(async () => {
      const [any] = this.#db
        .query('SELECT EXISTS (SELECT 1 FROM count_slices) OR EXISTS (SELECT 1 FROM verdict_log)')
        .values();
      return any?.[0] === 1 ? (await this.#thread.get()).call('foldCounts') : true;
    });
  }

  async remove(statement: Statement): Promise<number> {
    return (await this.#write([statement]))[0] ?? 0;
  }

  #write(statements: readonly Statement[]): Promise<number[]> {
    return this.#try(async () => (await this.#thread.get()).call('write', statements));
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      throw new StorageUnavailable(`The analytics cannot be written (${toWriteFailure(error).message}).`);
    }
  }
}

export const ADD_SLICE = 'INSERT INTO count_slices (apis, body) VALUES ($1, $2)';

/** Codes come last, so that a new code changes no place. */
const COLUMNS = ['minute_ms', 'api_id', 'tags', 'credits', ...CODES];

/** The counts of one slice by minute, api and tags, as a JSON list of rows, which SQLite's own functions read. */
export function packApis(counts: CountColumns): string {
  return JSON.stringify(
    sumByApi(counts).map(({ minuteMs, apiId, tags, counts: byCode, credits }) => [
      minuteMs,
      apiId,
      tags,
      credits,
      ...byCode,
    ]),
  );
}

const VALUES = COLUMNS.map((name, i) => `coalesce(json_extract(row.value, '$[${i}]'), 0) AS ${name}`).join(', ');

/** A subquery with the columns that a question about apis reads. */
export const APIS_OF_SLICES = `(SELECT ${VALUES} FROM count_slices s, json_each(s.apis) row)`;
