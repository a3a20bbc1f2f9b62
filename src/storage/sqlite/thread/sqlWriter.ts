import { StorageUnavailable } from '../../port/storage.ts';
import type { SqlWriter, WriteStatement } from '../../sql/query/statement.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from './threadClient.ts';

/** Writes through the writer thread, beside the commits of the ledger. */
export class SqliteWriter implements SqlWriter {
  readonly #writer: SqliteThread;
  /** What goes into the next shared transaction. */
  readonly #shared: WriteStatement[] = [];
  #lastShared: Promise<readonly number[] | null> = Promise.resolve(null);

  constructor(writer: SqliteThread) {
    this.#writer = writer;
  }

  async write(statements: readonly WriteStatement[]): Promise<readonly number[] | null> {
    try {
      return await this.#writer.call('write', statements);
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind === 'refused') return null;
      throw new StorageUnavailable(`The database could not be written (${failure.message}).`);
    }
  }

  /** Each transaction is flushed, and spends wait meanwhile. So what comes while one is under way shares the next one. */
  async share(statement: WriteStatement): Promise<number> {
    const place = this.#shared.push(statement) - 1;
    if (place === 0) {
      const next = (): Promise<readonly number[] | null> => this.write(this.#shared.splice(0));
      this.#lastShared = this.#lastShared.then(next, next);
    }
    return (await this.#lastShared)?.[place] ?? 0;
  }
}
