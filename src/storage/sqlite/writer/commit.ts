import type { Database, Statement } from 'bun:sqlite';

import type { IdempotencyKey } from '../../../core/spend.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { CreditWrites } from '../../port/credits.ts';
import type { NewEvent } from '../../port/events.ts';
import type { WindowName } from '../../port/storage.ts';
import type { RecordWrite } from '../../port/writes.ts';
import { openDurably } from '../file/openDatabase.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import { toLog } from '../loggedBytes.ts';

/** Rows that only this adapter writes: the names of ad-hoc windows. */
export type WindowWrite =
  | { readonly kind: 'insertWindow'; readonly window: WindowName; readonly account: number }
  | { readonly kind: 'removeWindow'; readonly account: number };

export interface AnswerRow extends IdempotencyKey {
  readonly outcome: string;
}

/** The writes of a change, and when the ledger decided it. */
export interface EntryRow extends AuditEntry {
  readonly atMs: number;
}

export interface EventRow extends NewEvent {
  readonly atMs: number;
}

/** One batch of the ledger. */
export interface Commit {
  readonly number: number;
  /** The new state of the accounts that it changed: ACCOUNT_LENGTH numbers for each. */
  readonly accounts: Float64Array;
  /**
   * The last part of the CommitRows, as JSON; null = it writes nothing else. A text reaches the writer thread in a tenth of the time of the
   * objects in it, and that is time of the answering thread.
   */
  readonly rows: string | null;
}

/** What a commit writes besides the accounts, or a part of it. */
export interface CommitRows {
  readonly writes?: readonly (RecordWrite | WindowWrite)[];
  readonly entries?: readonly EntryRow[];
  readonly events?: readonly EventRow[];
  /** null: only the balances of accounts change. */
  readonly credits?: CreditWrites | null;
  /** Null: the batch remembers no answers, and the partitions stay as they are. */
  readonly remembered?: RememberedAnswers | null;
}

/** Which partition of the remembered answers runs from now on. */
export interface Rotation {
  readonly running: { readonly partition: 0 | 1; readonly sinceMs: number };
  /** The new running partition holds older answers, which have to be removed. */
  readonly empties: boolean;
  /** The database does not know yet that this is the running partition. */
  readonly isDue: boolean;
}

export interface RememberedAnswers {
  readonly rotation: Rotation;
  readonly answers: readonly AnswerRow[];
}

export interface WriterOptions {
  readonly path: string;
  /** For the benchmark: the time that a slower disk would add to every flush. */
  readonly addedFlushMs: number;
}

/** Writes batches that only spend to the log, from the answering thread. ledger/commitQueue.ts decides when. */
export class DirectLog {
  readonly #db: Database;
  readonly #insert: Statement<unknown, [number, Uint8Array]>;
  readonly #addedFlushMs: number;

  constructor({ path, addedFlushMs }: WriterOptions) {
    this.#addedFlushMs = addedFlushMs;
    this.#db = openDurably(path);
    try {
      // The answering thread does not wait for other writers, and leaves checkpoints to the writer thread.
      this.#db.run('PRAGMA busy_timeout = 0');
      this.#db.run('PRAGMA wal_autocheckpoint = 0');
      this.#insert = this.#db.prepare('INSERT INTO ledger_log (number, entries) VALUES (?, ?)');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** One statement is one transaction. It is durable on return. Returns how many milliseconds it took. */
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
