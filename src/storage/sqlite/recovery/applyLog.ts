import type { Accounts } from '../ledger/accounts.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

/** Unfolded accounts at which a round begins: bounds the memory and the tail that a start has to replay. */
const FOLD_AT = 200_000;
/** Commits after which a round begins however few accounts they touched (a hot key writes one account for ever). */
const FOLD_AFTER_COMMITS = 40_000;
/** A round begins at the latest this long after a commit. Each writes all accounts that are in use: the rarer, the less is written. */
const FOLD_AFTER_MS = 30_000;
/** There is no rest when the log has grown by so much since the round began. */
const REST_COMMITS = 5_000;

interface Pace {
  /** Accounts, and log rows, of one transaction. */
  readonly slice: number;
  readonly trimSlice: number;
  /** Between two of them, so that batches are not held up one after the other. */
  readonly rest: () => Promise<void>;
}

/** A commit may have to wait for a slice, 2 to 3 ms. Smaller ones take longer in all; a stop waits for what is left of a round. */
const PACE: Pace = { slice: 2_000, trimSlice: 500, rest: () => Bun.sleep(5) };

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
  readonly #writer: Pick<SqliteThread, 'call'>;
  readonly #ledger: FoldedLedger;
  readonly #pace: Pace;
  #foldedTo = 0;
  #round: Promise<void> | null = null;
  #isUrgent = false;
  /** The last round has: the next one comes with the timer, or when it is asked for, and not with every commit. */
  #hasFailed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** The pace is given by tests only. */
  constructor(accounts: Accounts, writer: Pick<SqliteThread, 'call'>, ledger: FoldedLedger, pace: Pace = PACE) {
    this.#accounts = accounts;
    this.#writer = writer;
    this.#ledger = ledger;
    this.#pace = pace;
  }

  /** Called after every commit. */
  consider(): void {
    if (this.#round !== null) return;
    const isDue =
      this.#accounts.unfoldedSize >= FOLD_AT || this.#ledger.number() - this.#foldedTo >= FOLD_AFTER_COMMITS;
    if (isDue && !this.#hasFailed) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), FOLD_AFTER_MS);
  }

  /** Folds everything that is committed now, behind the commits. */
  async catchUp(): Promise<void> {
    await this.#round;
    if (this.#ledger.number() > this.#foldedTo) this.#begin();
    await this.#round;
  }

  /** The same for the last time, without rests: no commit is held up any more. */
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
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#ledger.failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #fold(): Promise<void> {
    const { slice: size, trimSlice } = this.#pace;
    const upTo = this.#ledger.number();
    const ids = this.#accounts.unfoldedIds();
    for (let i = 0; i < ids.length; i += size) {
      const slice = this.#accounts.slice(ids.subarray(i, i + size));
      await this.#writer.call('fold', slice);
      this.#accounts.markFolded(slice);
      await this.#rest(upTo);
    }
    while (!(await this.#writer.call('trim', upTo, trimSlice))) await this.#rest(upTo);
    this.#foldedTo = upTo;
  }

  async #rest(upTo: number): Promise<void> {
    if (!this.#isUrgent && this.#ledger.number() - upTo < REST_COMMITS) await this.#pace.rest();
  }
}
