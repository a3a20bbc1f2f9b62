import type { Database } from 'bun:sqlite';

import type { Accounts } from './accounts.ts';
import { FolderError } from './file/dataFolder.ts';
import { fromLog } from './loggedBytes.ts';
import type { SqliteThread } from './thread/threadClient.ts';

/** A round begins at this many unapplied accounts. This bounds the memory, and the log that a start has to read (`replayLog`). */
const APPLY_AT = 200_000;
/** A round begins after this many commits, however few accounts they changed: a hot key always writes the same account. */
const APPLY_AFTER_COMMITS = 40_000;
/** A round begins at the latest this long after a commit. Rarer rounds write less in total, because each writes every account in use. */
const APPLY_AFTER_MS = 30_000;
/** A round stops resting when the log has grown by this much since it began. */
const REST_COMMITS = 5_000;

interface Pace {
  /** Accounts, and log rows, of one transaction. */
  readonly slice: number;
  readonly trimSlice: number;
  /** The rest between two transactions, so that not every batch is delayed. */
  readonly rest: () => Promise<void>;
}

/** A commit may have to wait for a slice, 2 to 3 ms. Smaller slices take longer in total, and a stop waits for the rest of a round. */
const PACE: Pace = { slice: 2_000, trimSlice: 500, rest: () => Bun.sleep(5) };

interface CommittedLedger {
  /** Number of the last durable commit. */
  readonly number: () => number;
  readonly failed: (reason: string) => void;
}

/**
 * Applies the log to the accounts table, in the background of commits. One round writes the accounts that are unapplied now, in slices, in
 * table order, each with its newest committed state. Then it removes the log rows up to the commit at which the round began. A crash in
 * between loses nothing: log rows hold whole states, and reading them again (`replayLog`) gives the same result.
 */
export class LogApplier {
  readonly #accounts: Accounts;
  readonly #writer: Pick<SqliteThread, 'call'>;
  readonly #ledger: CommittedLedger;
  readonly #pace: Pace;
  #appliedTo = 0;
  #round: Promise<void> | null = null;
  #isUrgent = false;
  /** The last round failed: the next one begins with the timer or on request, not with every commit. */
  #hasFailed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Only tests pass a pace. */
  constructor(accounts: Accounts, writer: Pick<SqliteThread, 'call'>, ledger: CommittedLedger, pace: Pace = PACE) {
    this.#accounts = accounts;
    this.#writer = writer;
    this.#ledger = ledger;
    this.#pace = pace;
  }

  /** Called after every commit. */
  consider(): void {
    if (this.#round !== null) return;
    const isDue =
      this.#accounts.unappliedSize >= APPLY_AT || this.#ledger.number() - this.#appliedTo >= APPLY_AFTER_COMMITS;
    if (isDue && !this.#hasFailed) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), APPLY_AFTER_MS);
  }

  /** Applies everything that is committed now, in the background of commits. */
  async catchUp(): Promise<void> {
    await this.#round;
    if (this.#ledger.number() > this.#appliedTo) this.#begin();
    await this.#round;
  }

  /** The same for the last time, without rests: there are no more commits to delay. */
  finish(): Promise<void> {
    this.#isUrgent = true;
    return this.catchUp();
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#tryRound().finally(() => (this.#round = null));
  }

  /** A round that fails (disk full) keeps the log: nothing is lost, and the next round does the work. */
  async #tryRound(): Promise<void> {
    try {
      await this.#runRound();
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#ledger.failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #runRound(): Promise<void> {
    const { slice: size, trimSlice } = this.#pace;
    const upTo = this.#ledger.number();
    const ids = this.#accounts.unappliedIds();
    for (let i = 0; i < ids.length; i += size) {
      const slice = this.#accounts.slice(ids.subarray(i, i + size));
      await this.#writer.call('applyAccounts', slice);
      this.#accounts.markApplied(slice);
      await this.#rest(upTo);
    }
    while (!(await this.#writer.call('trimLog', upTo, trimSlice))) await this.#rest(upTo);
    this.#appliedTo = upTo;
  }

  async #rest(upTo: number): Promise<void> {
    if (!this.#isUrgent && this.#ledger.number() - upTo < REST_COMMITS) await this.#pace.rest();
  }
}

interface LogRow {
  readonly number: number;
  readonly entries: Uint8Array;
}

/**
 * For the start after a crash or a stop. The accounts table may be older than the log: every remaining log row is read again, oldest first.
 * Rows hold whole states, so reading an applied row again changes nothing. Returns the number of the last durable commit.
 */
export function replayLog(db: Database, accounts: Accounts): number {
  const rows = db.query('SELECT number, entries FROM ledger_log ORDER BY number').iterate() as Iterable<LogRow>;
  for (const row of rows) accounts.adoptLogged(readRow(row));
  return readLastCommit(db);
}

/** The number of the last durable commit. */
export function readLastCommit(db: Database): number {
  const { last } = db.query('SELECT coalesce(max(number), 0) AS last FROM ledger_log').get() as { last: number };
  return Math.max(readAppliedTo(db), last);
}

function readRow({ number, entries }: LogRow): Float64Array {
  try {
    return fromLog(entries);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new FolderError(`Row ${number} of the ledger's log cannot be read (${reason}).`);
  }
}

/** The last commit whose log row was removed. */
function readAppliedTo(db: Database): number {
  const row = db.query("SELECT value FROM installation WHERE name = 'applied_to'").get() as { value: string } | null;
  return row === null ? 0 : Number(row.value);
}
