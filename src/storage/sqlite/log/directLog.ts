import type { Database, Statement } from 'bun:sqlite';
import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

import { openDurably } from '../file/openDatabase.ts';
import { toWriteFailure, WriteFailure } from '../file/writeFailure.ts';
import { flushFolder } from '../file/dataFolder.ts';
import { toLog } from './logBytes.ts';
import type { WriterOptions } from './writer.ts';

type Flush = (descriptor: number) => void;

/** Elsewhere SQLite has ways of its own to flush, which are left to it. */
const OWN_FLUSH: Flush | null = process.platform === 'linux' ? fdatasyncSync : null;

/**
 * Writes batches of spends to the log from the thread that answers: see committing.ts for when.
 *
 * SQLite writes the commit to its write-ahead log, and the flush is made here, behind it and before the answer, by a
 * descriptor of that file. The runtime's SQLite flushes with fsync, which writes down the time of the last change as well: with
 * fdatasync, which does not, the answering thread was measured to take 5 % less for a counted verification.
 */
export class DirectLog {
  readonly #db: Database;
  readonly #insert: Statement<unknown, [number, Uint8Array]>;
  readonly #addedFlushMs: number;
  readonly #flushFile: Flush | null;
  /** Of SQLite's write-ahead log; null where SQLite flushes. */
  readonly #log: number | null;

  /** How a file is flushed is given by tests only. */
  constructor({ path, addedFlushMs }: WriterOptions, flush: Flush | null = OWN_FLUSH) {
    this.#flushFile = flush;
    this.#addedFlushMs = addedFlushMs;
    this.#db = openDurably(path);
    try {
      // Whoever else writes is not waited for here, and the log is put into the database by the thread of the writer.
      this.#db.run('PRAGMA busy_timeout = 0');
      this.#db.run('PRAGMA wal_autocheckpoint = 0');
      this.#insert = this.#db.prepare('INSERT INTO ledger_log (number, entries) VALUES (?, ?)');
      this.#log = flush === null ? null : openLog(this.#db);
      // From here on it flushes nothing but the head of a log that begins anew.
      if (flush !== null) this.#db.run('PRAGMA synchronous = NORMAL');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** One statement, one transaction: durable when it returns. Answers how many milliseconds that took. */
  append(number: number, accounts: Float64Array): number {
    const startedAt = performance.now();
    try {
      this.#insert.run(number, toLog(accounts));
    } catch (error) {
      throw toWriteFailure(error);
    }
    this.#flush();
    if (this.#addedFlushMs > 0) Bun.sleepSync(this.#addedFlushMs);
    return performance.now() - startedAt;
  }

  /** Whatever its reason is, a full disk too: the commit is in the log by now, and what of it is on the disk is not known. */
  #flush(): void {
    if (this.#log === null) return;
    try {
      this.#flushFile?.(this.#log);
    } catch (error) {
      throw new WriteFailure('broken', error instanceof Error ? error.message : String(error));
    }
  }

  /** For tests: see Writer. */
  setMaxPages(pages: number | null): void {
    this.#db.run(`PRAGMA max_page_count = ${pages ?? 4294967294}`);
  }

  close(): void {
    this.#insert.finalize();
    this.#db.close();
    if (this.#log !== null) closeSync(this.#log);
  }
}

/** It stands beside the file that SQLite has really opened, which a link may lead to, and exists for as long as anyone has that open. */
function openLog(db: Database): number {
  const { file } = db.query("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as { file: string };
  // So that the log itself is found again.
  flushFolder(dirname(file));
  return openSync(`${file}-wal`, 'r+');
}
