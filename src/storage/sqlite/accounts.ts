import { ACCOUNT_LENGTH, fromLog, CLOSED, writeAccount, readAccount } from './loggedBytes.ts';
import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../core/account.ts';
import { FolderError } from './file/dataFolder.ts';
import type { SqliteThread } from './thread/threadClient.ts';
import { StorageUnavailable } from '../port/storage.ts';
import { toWriteFailure } from './file/writeFailure.ts';

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

/**
 * Accounts of one page. Account numbers are given in order, so keys that were created together share a page. With pages of 256, finding the
 * page took as long as reading the account, because the page objects are not in the processor's cache. Much larger pages cost memory: a
 * whole page stays while one of its accounts is unapplied.
 */
const PAGE_ACCOUNTS = 2048;
/** The bits of an account number that are its index on the page. This is correct for every whole number, however large. */
const LAST_OF_PAGE = PAGE_ACCOUNTS - 1;
/** Pages that are kept (about 100 MB). A page without unapplied accounts is dropped to make room for another. */
const MAX_PAGES = 1024;
/** How many pages are checked for one that can be dropped. */
const EVICTION_TRIES = 16;

/** Instead of an account's kind: the account is not read yet. */
const NOT_READ = -2;
const KIND_AT = 1;
/** Fewer accounts than this are read one by one, when they are asked for. */
const TOGETHER = 32;

/** ACCOUNT_LENGTH numbers for each account, in the order of the account numbers. */
interface Page {
  readonly numbers: Float64Array;
  /** 1 for each unapplied account, and the number of these accounts. */
  readonly marks: Uint8Array;
  unapplied: number;
}

interface AccountRow {
  id: number;
  kind: number;
  value: number;
  mark: number;
  due_at_ms: number;
  revision: number;
  base: number;
  segment_ms: number;
}

/**
 * The committed accounts, as numbers in pages: 64 bytes for each account, and nothing for the garbage collector to visit. (No gain in
 * throughput was measured.) An account is in one of these states:
 *
 *   not read --get--> clean: equal to its row --adopt--> unapplied: in the log, newer than its row --markApplied--> clean
 *
 * The decisions of a batch are adopted when its commit is durable (`adopt`), so memory always equals the disk. An unapplied account is
 * never dropped.
 */
export class Accounts {
  readonly #maxPages: number;
  readonly #pages = new Map<number, Page>();
  #unapplied = 0;
  readonly #select;
  readonly #selectRange;

  constructor(db: Database, maxPages = MAX_PAGES) {
    this.#maxPages = maxPages;
    const columns = 'id, kind, value, mark, due_at_ms, revision, base, segment_ms';
    this.#select = db.query<AccountRow, [number]>(`SELECT ${columns} FROM accounts WHERE id = ?`);
    this.#selectRange = db.query<AccountRow, [number, number]>(
      `SELECT ${columns} FROM accounts WHERE id BETWEEN ? AND ?`,
    );
  }

  get unappliedSize(): number {
    return this.#unapplied;
  }

  get pages(): number {
    return this.#pages.size;
  }

  get(id: number): AccountState | undefined {
    const { numbers } = this.#page(id);
    const at = offsetOf(id);
    if (numbers[at + KIND_AT] === NOT_READ && !this.#read(id, numbers, at)) return undefined;
    return readAccount(numbers, at) ?? undefined;
  }

  /**
   * Reads accounts with consecutive numbers at once, such as those of keys that were created together. One by one, ten thousand new
   * accounts would take 50 ms.
   */
  readTogether(ids: readonly number[]): void {
    if (ids.length < TOGETHER) return;
    const [first, last] = ids.reduce(([low, high], id) => [Math.min(low, id), Math.max(high, id)], [Infinity, 0]);
    if (last - first >= ids.length * 2) return;
    const unread = ids.filter((id) => this.#page(id).numbers[offsetOf(id) + KIND_AT] === NOT_READ);
    if (unread.length < TOGETHER) return;
    for (const id of unread) this.#page(id).numbers[offsetOf(id) + KIND_AT] = CLOSED;
    const isUnread = new Set(unread);
    for (const row of this.#selectRange.all(first, last)) {
      if (isUnread.has(row.id)) setRow(row, this.#page(row.id).numbers, offsetOf(row.id));
    }
  }

  adopt(states: ReadonlyMap<number, AccountState | null>): void {
    for (const [id, state] of states) {
      writeAccount(this.#touch(id).numbers, offsetOf(id), id, state);
    }
  }

  /** The same accounts, in the form of the log. */
  adoptLogged(logged: Float64Array): void {
    for (let at = 0; at < logged.length; at += ACCOUNT_LENGTH) {
      const id = logged[at] ?? 0;
      copyAccount(logged, at, this.#touch(id).numbers, offsetOf(id));
    }
  }

  /** In the order of the table: neighbours share a page of the file, so it is written once. */
  unappliedIds(): Float64Array {
    const ids = new Float64Array(this.#unapplied);
    const pages = [...this.#pages].filter(([, { unapplied }]) => unapplied > 0).sort(([a], [b]) => a - b);
    let next = 0;
    for (const [number, { marks }] of pages) {
      for (let i = marks.indexOf(1); i >= 0; i = marks.indexOf(1, i + 1)) ids[next++] = number * PAGE_ACCOUNTS + i;
    }
    return ids;
  }

  /** The newest committed states of these accounts, ACCOUNT_LENGTH numbers for each. */
  slice(ids: Float64Array): Float64Array {
    const slice = new Float64Array(ids.length * ACCOUNT_LENGTH);
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] ?? 0;
      copyAccount(this.#page(id).numbers, offsetOf(id), slice, i * ACCOUNT_LENGTH);
    }
    return slice;
  }

  /** Notes that the slice is in the table now. An account that has changed meanwhile stays unapplied. */
  markApplied(slice: Float64Array): void {
    for (let i = 0; i < slice.length; i += ACCOUNT_LENGTH) {
      const id = slice[i] ?? 0;
      const page = this.#page(id);
      const at = offsetOf(id);
      if (!isEqual(slice, i, page.numbers, at) || page.marks[id & LAST_OF_PAGE] === 0) continue;
      page.marks[id & LAST_OF_PAGE] = 0;
      page.unapplied--;
      this.#unapplied--;
      // A closed account has no row: it counts as not read.
      if (page.numbers[at + KIND_AT] === CLOSED) page.numbers[at + KIND_AT] = NOT_READ;
    }
  }

  /** The page of an account that will be newer than its row. */
  #touch(id: number): Page {
    const page = this.#page(id);
    if (page.marks[id & LAST_OF_PAGE] === 1) return page;
    page.marks[id & LAST_OF_PAGE] = 1;
    page.unapplied++;
    this.#unapplied++;
    return page;
  }

  #read(id: number, numbers: Float64Array, at: number): boolean {
    const row = this.#select.get(id);
    if (row === null) return false;
    setRow(row, numbers, at);
    return true;
  }

  #page(id: number): Page {
    const number = Math.floor(id / PAGE_ACCOUNTS);
    let page = this.#pages.get(number);
    if (page === undefined) {
      if (this.#pages.size >= this.#maxPages) this.#dropOldPages();
      const numbers = new Float64Array(PAGE_ACCOUNTS * ACCOUNT_LENGTH).fill(NOT_READ);
      page = { numbers, marks: new Uint8Array(PAGE_ACCOUNTS), unapplied: 0 };
      this.#pages.set(number, page);
    }
    return page;
  }

  /** Drops the oldest pages that can be dropped. One that cannot is checked again after all others. */
  #dropOldPages(): void {
    for (let tries = 0; tries < EVICTION_TRIES && this.#pages.size >= this.#maxPages; tries++) {
      const first = this.#pages.entries().next();
      if (first.done === true) return;
      const [number, page] = first.value;
      this.#pages.delete(number);
      if (page.unapplied > 0) this.#pages.set(number, page);
    }
  }
}

function setRow(row: AccountRow, numbers: Float64Array, at: number): void {
  const { id, kind, value, mark, due_at_ms, revision, base, segment_ms } = row;
  numbers.set([id, kind, value, mark, due_at_ms, revision, base, segment_ms], at);
}

function offsetOf(id: number): number {
  return (id & LAST_OF_PAGE) * ACCOUNT_LENGTH;
}

function copyAccount(from: Float64Array, at: number, to: Float64Array, offset: number): void {
  for (let i = 0; i < ACCOUNT_LENGTH; i++) to[offset + i] = from[at + i] ?? 0;
}

function isEqual(a: Float64Array, atA: number, b: Float64Array, atB: number): boolean {
  for (let i = 0; i < ACCOUNT_LENGTH; i++) if (a[atA + i] !== b[atB + i]) return false;
  return true;
}

/** Numbers are reserved in blocks, so that creating a key rarely costs a second commit. */
const BLOCK = 1000;

/** Numbers for new accounts, one after the other. No number is given twice: at a crash, the rest of a block is lost. */
export class AccountNumbers {
  readonly #writer: SqliteThread;
  #next = 0;
  #end = 0;
  #taking: Promise<unknown> = Promise.resolve();

  constructor(writer: SqliteThread) {
    this.#writer = writer;
  }

  reserve(count: number): Promise<readonly number[]> {
    const taken = this.#taking.then(() => this.#take(count));
    this.#taking = taken.catch(() => undefined);
    return taken;
  }

  async #take(count: number): Promise<readonly number[]> {
    if (this.#end - this.#next < count) {
      const block = Math.max(BLOCK, count);
      this.#next = await this.#writer.call('reserve', block).catch((error: unknown) => {
        throw new StorageUnavailable(toWriteFailure(error).message);
      });
      this.#end = this.#next + block;
    }
    const first = this.#next;
    this.#next += count;
    return Array.from({ length: count }, (_, i) => first + i);
  }
}
