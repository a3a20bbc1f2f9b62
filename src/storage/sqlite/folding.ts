import type { Accounts } from './accounts.ts';
import type { SqliteThread } from './threadClient.ts';

/** Unfolded accounts at which a round begins: bounds the memory and the tail that a start has to replay. */
const FOLD_AT = 200_000;
/** Commits after which a round begins however few accounts they touched (a hot key writes one account for ever). */
const FOLD_AFTER_COMMITS = 40_000;
/** A round begins at the latest this long after a commit. Each writes all accounts that are in use: the rarer, the less is written. */
const FOLD_AFTER_MS = 30_000;
/** Accounts and log rows of one transaction: what a commit may have to wait for, 2 to 3 ms. Smaller ones take longer in all. */
const SLICE = 2_000;
const TRIM_SLICE = 500;
/** Between two slices, so that batches are not held up one after the other; not when the log has grown by so much meanwhile. */
const REST_MS = 20;
const REST_COMMITS = 5_000;

interface FoldedLedger {
  /** Number of the last durable commit. */
  readonly number: () => number;
  readonly failed: (reason: string) => void;
}

/**
 * Brings the accounts table up to the log, behind the commits. One round: the accounts that are unfolded now are written
 * in slices, in table order, each with its newest committed state; then the log rows up to the round's beginning are
 * removed. A crash in between loses nothing: log rows hold whole states, and replaying them again ends in the same.
 */
export class Folding {
  readonly #accounts: Accounts;
  readonly #writer: SqliteThread;
  readonly #ledger: FoldedLedger;
  #foldedTo: number;
  #round: Promise<void> | null = null;
  #isUrgent = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(accounts: Accounts, writer: SqliteThread, ledger: FoldedLedger) {
    this.#accounts = accounts;
    this.#writer = writer;
    this.#ledger = ledger;
    this.#foldedTo = 0;
  }

  /** Called after every commit. */
  consider(): void {
    if (this.#round !== null) return;
    if (this.#accounts.unfoldedSize >= FOLD_AT || this.#ledger.number() - this.#foldedTo >= FOLD_AFTER_COMMITS)
      this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), FOLD_AFTER_MS);
  }

  /** Folds everything that is committed now, behind the commits. */
  async catchUp(): Promise<void> {
    await this.#round;
    if (this.#ledger.number() > this.#foldedTo) this.#begin();
    await this.#round;
  }

  /** The same for the last time: no commit is held up any more. */
  finish(): Promise<void> {
    this.#isUrgent = true;
    return this.catchUp();
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#tryToFold().finally(() => (this.#round = null));
  }

  /** A round that fails (disk full) leaves the log as it is: nothing is lost, and the next one does the work. */
  async #tryToFold(): Promise<void> {
    try {
      await this.#fold();
    } catch (error) {
      this.#ledger.failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #fold(): Promise<void> {
    const upTo = this.#ledger.number();
    const ids = this.#accounts.unfoldedIds();
    for (let i = 0; i < ids.length; i += SLICE) {
      const slice = this.#accounts.slice(ids.subarray(i, i + SLICE));
      await this.#writer.call('fold', slice);
      this.#accounts.markFolded(slice);
      if (i + SLICE < ids.length) await this.#rest(upTo);
    }
    while (!(await this.#writer.call('trim', upTo, TRIM_SLICE))) await this.#rest(upTo);
    this.#foldedTo = upTo;
  }

  async #rest(upTo: number): Promise<void> {
    if (!this.#isUrgent && this.#ledger.number() - upTo < REST_COMMITS) await Bun.sleep(REST_MS);
  }
}
