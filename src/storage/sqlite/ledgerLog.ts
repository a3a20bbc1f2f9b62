import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../core/account.ts';
import type { Accounts } from './accounts.ts';
import { FolderError } from './file/dataFolder.ts';
import type { SqliteThread } from './thread/threadClient.ts';

/** An account as the log holds it is eight numbers: id, kind, value, mark, due (ms), revision, base, length of a segment (ms). */
export const ACCOUNT_LENGTH = 8;

/** The forms of a number. The numbers of an account follow a mark: two bits for the account's kind, three for the form of each number. */
const ZERO = 0;
/** The same as in the previous account: accounts of one row often have the revision, the refill and the day in common. */
const SAME = 1;
/** The base, as its difference to the value, in two bytes. */
const ABOVE_VALUE = 2;
const TWO_BYTES = 3;
const FOUR_BYTES = 4;
/** An instant in whole seconds, in four bytes. */
const SECONDS = 5;
const EIGHT_BYTES = 6;

const BYTES_OF_FORM = [0, 0, 2, 2, 4, 4, 8] as const;
const MARK_BYTES = 3;
const MAX_ACCOUNT_BYTES = MARK_BYTES + (ACCOUNT_LENGTH - 1) * 8;
/** Offsets of the numbers of an account, except the kind, which has no bytes. The value is read before the base. */
const NUMBERS = [0, 2, 3, 4, 5, 6, 7] as const;
const KIND = 1;
const VALUE = 2;
const BASE = 6;

let buffer = new DataView(new ArrayBuffer(64 * MAX_ACCOUNT_BYTES));

/**
 * Accounts as the bytes of a log row, valid until the next call. Most numbers are small, 0 or repeated: a commit of 60 credits has 790
 * bytes instead of 3,840. So several rows share a page of the database, and fewer pages are flushed. As JSON, they took a third of the time
 * of the commit.
 */
export function toLog(numbers: Float64Array): Uint8Array {
  const most = (numbers.length / ACCOUNT_LENGTH) * MAX_ACCOUNT_BYTES;
  if (buffer.byteLength < most) buffer = new DataView(new ArrayBuffer(most * 2));
  let end = 0;
  for (let at = 0; at < numbers.length; at += ACCOUNT_LENGTH) {
    const start = end;
    const value = numbers[at + VALUE] ?? 0;
    let mark = (numbers[at + KIND] ?? 0) + 1;
    let shift = 2;
    end += MARK_BYTES;
    for (const offset of NUMBERS) {
      const number = numbers[at + offset] ?? 0;
      if (number !== 0) {
        let form = SAME;
        if (at === 0 || number !== numbers[at + offset - ACCOUNT_LENGTH]) {
          form = formOf(number, offset === BASE ? number - value : -1);
          put(end, number, form, value);
          end += BYTES_OF_FORM[form] ?? 0;
        }
        mark |= form << shift;
      }
      shift += 3;
    }
    buffer.setUint16(start, mark & 0xffff, true);
    buffer.setUint8(start + 2, mark >>> 16);
  }
  return new Uint8Array(buffer.buffer, 0, end);
}

function formOf(number: number, aboveValue: number): number {
  if (aboveValue === (aboveValue & 0xffff)) return ABOVE_VALUE;
  if (number === (number & 0xffff)) return TWO_BYTES;
  if (number === number >>> 0) return FOUR_BYTES;
  return wholeSeconds(number) * 1000 === number ? SECONDS : EIGHT_BYTES;
}

function put(at: number, number: number, form: number, value: number): void {
  if (form === FOUR_BYTES) buffer.setUint32(at, number, true);
  else if (form === ABOVE_VALUE) buffer.setUint16(at, number - value, true);
  else if (form === TWO_BYTES) buffer.setUint16(at, number, true);
  else if (form === SECONDS) buffer.setUint32(at, wholeSeconds(number), true);
  else buffer.setFloat64(at, number, true);
}

/** Correct only if the number is an instant in whole seconds. Computing the remainder of a number this large takes many times as long. */
function wholeSeconds(number: number): number {
  return (number / 1000) >>> 0;
}

/** ACCOUNT_LENGTH numbers for each. */
export function fromLog(logged: Uint8Array): Float64Array {
  const view = new DataView(logged.buffer, logged.byteOffset, logged.byteLength);
  const numbers = new Float64Array(Math.ceil(view.byteLength / MARK_BYTES) * ACCOUNT_LENGTH);
  let end = 0;
  for (let at = 0; at < view.byteLength; end += ACCOUNT_LENGTH) {
    const mark = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const kind = (mark & 3) - 1;
    at += MARK_BYTES;
    numbers[end + KIND] = kind;
    let isSound = kind <= 1;
    let shift = 2;
    for (const offset of NUMBERS) {
      const form = (mark >>> shift) & 7;
      const before = numbers[end + offset - ACCOUNT_LENGTH] ?? Number.NaN;
      const number = form === SAME ? before : readNumber(view, at, form, numbers[end + VALUE] ?? 0);
      isSound &&= isCount(number);
      numbers[end + offset] = number;
      at += BYTES_OF_FORM[form] ?? 0;
      shift += 3;
    }
    if (!isSound) throw new Error('it holds impossible numbers');
  }
  return numbers.subarray(0, end);
}

/** NaN for a form that does not exist. */
function readNumber(view: DataView, at: number, form: number, value: number): number {
  switch (form) {
    case ZERO:
      return 0;
    case ABOVE_VALUE:
      return value + view.getUint16(at, true);
    case TWO_BYTES:
      return view.getUint16(at, true);
    case FOUR_BYTES:
      return view.getUint32(at, true);
    case SECONDS:
      return view.getUint32(at, true) * 1000;
    case EIGHT_BYTES:
      return view.getFloat64(at, true);
    default:
      return Number.NaN;
  }
}

/** Instead of the kind: the account has no row. */
export const CLOSED = -1;

/** All of them in one block of numbers. */
export function toLoggedAccounts(states: ReadonlyMap<number, AccountState | null>): Float64Array {
  const numbers = new Float64Array(states.size * ACCOUNT_LENGTH);
  let at = 0;
  for (const [id, state] of states) {
    writeAccount(numbers, at, id, state);
    at += ACCOUNT_LENGTH;
  }
  return numbers;
}

/** Writes an account into a block of numbers. */
export function writeAccount(numbers: Float64Array, at: number, id: number, state: AccountState | null): void {
  numbers[at] = id;
  numbers[at + 1] = state === null ? CLOSED : kindNumber(state);
  numbers[at + 2] = state?.value ?? 0;
  numbers[at + 3] = state?.mark ?? 0;
  numbers[at + 4] = state?.dueAtMs ?? 0;
  numbers[at + 5] = state?.revision ?? 0;
  numbers[at + 6] = state?.base ?? 0;
  numbers[at + 7] = state?.segmentMs ?? 0;
}

export function readAccount(numbers: Float64Array, at: number): AccountState | null {
  const kind = numbers[at + 1];
  if (kind === CLOSED) return null;
  return {
    kind: kind === 0 ? 'credits' : 'window',
    value: numbers[at + 2] ?? 0,
    mark: numbers[at + 3] ?? 0,
    dueAtMs: numbers[at + 4] ?? 0,
    revision: numbers[at + 5] ?? 0,
    base: numbers[at + 6] ?? 0,
    segmentMs: numbers[at + 7] ?? 0,
  };
}

function kindNumber({ kind }: AccountState): number {
  return kind === 'credits' ? 0 : 1;
}

/** Holds for every number of an account except its kind. */
export function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

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
