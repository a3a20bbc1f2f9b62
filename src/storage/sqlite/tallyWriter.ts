import type { Database } from 'bun:sqlite';

import { StorageUnavailable } from '../port.ts';
import type { Statement } from '../sql/statement.ts';
import type { FoldStep } from '../sql/tallyFold.ts';
import type { TallyWriter } from '../sql/tallies.ts';
import { toWriteFailure } from './failure.ts';
import type { LazyThread } from './lazyThread.ts';
import type { SqliteThread } from './threadClient.ts';

/** Rows of the log that are folded at once: the more, the more rows of a key become one; they are sorted in memory. */
const FOLD_ROWS = 250_000;

/** Writes the analytics in a thread of their own: no spend waits for it, and when it fails verification goes on. */
export class SqliteTallyWriter implements TallyWriter {
  readonly #db: Database;
  readonly #thread: LazyThread;

  /** `db` only reads. */
  constructor(db: Database, thread: LazyThread) {
    this.#db = db;
    this.#thread = thread;
  }

  async append(slice: string): Promise<void> {
    await this.#write([{ sql: 'INSERT INTO tally_slices (body) VALUES ($1)', params: [slice] }]);
  }

  async unpack(): Promise<boolean> {
    if (this.#db.query('SELECT 1 FROM tally_slices LIMIT 1').get() === null) return true;
    return this.#ask((thread) => thread.call('unpackTallies'));
  }

  /** The oldest first. */
  async nextStep(): Promise<FoldStep | null> {
    const { first, last } = this.#db
      .query('SELECT (SELECT min(number) FROM tally_log) AS first, (SELECT max(number) FROM tally_log) AS last')
      .get() as { first: number | null; last: number | null };
    if (first === null || last === null) return null;
    const until = Math.min(last, first + FOLD_ROWS - 1);
    return { where: 'number <= $1', params: [until], isLast: until === last };
  }

  async fold(statements: readonly Statement[]): Promise<boolean> {
    await this.#write(statements);
    return true;
  }

  async remove(statement: Statement): Promise<number> {
    return (await this.#write([statement]))[0] ?? 0;
  }

  #write(statements: readonly Statement[]): Promise<number[]> {
    return this.#ask((thread) => thread.call('write', statements));
  }

  async #ask<T>(question: (thread: SqliteThread) => Promise<T>): Promise<T> {
    try {
      return await question(await this.#thread.get());
    } catch (error) {
      throw new StorageUnavailable(`The analytics cannot be written (${toWriteFailure(error).message}).`);
    }
  }
}
