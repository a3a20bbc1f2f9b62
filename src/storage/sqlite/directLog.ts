import { Database, type Statement } from 'bun:sqlite';

import { configure } from './configure.ts';
import { entriesText } from './entries.ts';
import { toWriteFailure } from './failure.ts';
import type { WriterOptions } from './writer.ts';

/** Writes batches of spends to the log from the thread that answers: see committing.ts for when. */
export class DirectLog {
  readonly #db: Database;
  readonly #insert: Statement<unknown, [number, string]>;
  readonly #addedFlushMs: number;

  constructor({ path, addedFlushMs }: WriterOptions) {
    this.#db = new Database(path, { readwrite: true, create: false });
    configure(this.#db);
    // Whoever else writes is not waited for here, and the log is put into the database by the thread of the writer.
    this.#db.run('PRAGMA busy_timeout = 0');
    this.#db.run('PRAGMA wal_autocheckpoint = 0');
    this.#insert = this.#db.prepare('INSERT INTO ledger_log (number, entries) VALUES (?, ?)');
    this.#addedFlushMs = addedFlushMs;
  }

  /** One statement, one transaction: durable when it returns. Answers how many milliseconds that took. */
  append(number: number, accounts: Float64Array): number {
    const startedAt = performance.now();
    try {
      this.#insert.run(number, entriesText(accounts));
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
