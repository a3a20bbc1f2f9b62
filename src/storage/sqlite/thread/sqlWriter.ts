import { StorageUnavailable } from '../../port/storage.ts';
import type { SqlWriter, WriteStatement } from '../../sql/query/statement.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from './threadClient.ts';

/** Writes through the writer thread, beside the commits of the ledger. */
export class SqliteWriter implements SqlWriter {
  readonly #writer: SqliteThread;
  readonly #hold: { refuse(): void };
  /** What goes into the next shared transaction. */
  readonly #shared: WriteStatement[] = [];
  #lastShared: Promise<readonly number[] | null> = Promise.resolve(null);

  /** `hold` throws while nothing may be written. */
  constructor(writer: SqliteThread, hold: { refuse(): void }) {
    this.#writer = writer;
    this.#hold = hold;
  }

  async write(statements: readonly WriteStatement[]): Promise<readonly number[] | null> {
    this.#hold.refuse();
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
