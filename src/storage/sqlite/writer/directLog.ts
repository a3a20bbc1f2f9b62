import type { Database, Statement } from 'bun:sqlite';

import { openDurably } from '../file/openDatabase.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import { toLog } from '../log/logBytes.ts';
import type { WriterOptions } from './commit.ts';

/** Writes batches that only spend to the log, from the answering thread. commitPath.ts decides when. */
export class DirectLog {
  readonly #db: Database;
  readonly #insert: Statement<unknown, [number, Uint8Array]>;
  readonly #addedFlushMs: number;

  constructor({ path, addedFlushMs }: WriterOptions) {
    this.#addedFlushMs = addedFlushMs;
    this.#db = openDurably(path);
    try {
      // The answering thread waits for no other writer, and leaves checkpoints to the writer thread.
      this.#db.run('PRAGMA busy_timeout = 0');
      this.#db.run('PRAGMA wal_autocheckpoint = 0');
      this.#insert = this.#db.prepare('INSERT INTO ledger_log (number, entries) VALUES (?, ?)');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** One statement is one transaction. It is durable on return. Answers how many milliseconds it took. */
  append(number: number, accounts: Float64Array): number {
    const startedAt = performance.now();
    try {
      this.#insert.run(number, toLog(accounts));
    } catch (error) {
      throw toWriteFailure(error);
    }
    if (this.#addedFlushMs > 0) Bun.sleepSync(this.#addedFlushMs);
    return performance.now() - startedAt;
  }

  /** For tests: see Writer. */
  setMaxPages(pages: number | null): void {
    this.#db.run(`PRAGMA max_page_count = ${pages ?? 4294967294}`);
  }

  close(): void {
    this.#insert.finalize();
    this.#db.close();
  }
}
