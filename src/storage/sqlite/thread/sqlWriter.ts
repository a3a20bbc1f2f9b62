import { StorageUnavailable } from '../../port/storage.ts';
import type { SqlWriter, WriteStatement } from '../../sql/statement.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from './threadClient.ts';

/** Writes through the writer thread, beside the commits of the ledger. */
export class SqliteWriter implements SqlWriter {
  readonly #writer: SqliteThread;

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
}
