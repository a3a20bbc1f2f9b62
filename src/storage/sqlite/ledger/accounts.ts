import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../../core/account.ts';
import { ENTRY_LENGTH, readEntry, writeEntry } from '../log/loggedAccount.ts';

/**
 * Accounts of one page. Numbers are given one after the other, so keys made together are counted together. With pages of
 * 256, to find the page took as long as to read the account: their objects are not in the processor's cache. Much larger
 * ones are held as a whole for each account that is not folded.
 */
const PAGE_ACCOUNTS = 2048;
/** The bits of a number that tell its place on the page; right for every number that has no fraction, however large. */
const LAST_OF_PAGE = PAGE_ACCOUNTS - 1;
/** Pages kept (about 100 MB); one on which nothing is unfolded makes room for another. */
const MAX_PAGES = 1024;
/** Pages that are looked at for one that can go. */
const EVICTION_TRIES = 16;

/** In the place of an account's kind: it was not read yet. */
const NOT_READ = -2;
const KIND = 1;

/** AccountEntry after AccountEntry, in the order of their numbers. */
interface Page {
  readonly numbers: Float64Array;
  /** 1 for each account that is unfolded, and how many these are. */
  readonly marks: Uint8Array;
  unfolded: number;
}

interface AccountRow {
  kind: number;
  value: number;
  mark: number;
  due_at_ms: number;
  revision: number;
}

/**
 * The committed accounts, as numbers in pages: bounded by the page, 48 bytes an account, and nothing for the garbage
 * collector to walk through. (No gain in throughput was measured.) An account is in one of these states:
 *
 *   not read --get--> clean: equal to its row --adopt--> unfolded: in the log, newer than its row --markFolded--> clean
 *
 * What a batch under way has decided is not here: it comes in when its commit is durable (`adopt`), so memory is always
 * equal to disk. An unfolded account is never dropped.
 */
export class Accounts {
  readonly #maxPages: number;
  readonly #pages = new Map<number, Page>();
  #unfolded = 0;
  readonly #select;

  constructor(db: Database, maxPages = MAX_PAGES) {
    this.#maxPages = maxPages;
    this.#select = db.query('SELECT kind, value, mark, due_at_ms, revision FROM accounts WHERE id = ?');
  }

  get unfoldedSize(): number {
    return this.#unfolded;
  }

  get pages(): number {
    return this.#pages.size;
  }

  get(id: number): AccountState | undefined {
    const { numbers } = this.#page(id);
    const at = placeOf(id);
    if (numbers[at + KIND] === NOT_READ && !this.#read(id, numbers, at)) return undefined;
    return readEntry(numbers, at) ?? undefined;
  }

  adopt(states: ReadonlyMap<number, AccountState | null>): void {
    for (const [id, state] of states) {
      writeEntry(this.#touch(id).numbers, placeOf(id), id, state);
    }
  }

  /** The same, as the log holds them. */
  adoptLogged(logged: Float64Array): void {
    for (let at = 0; at < logged.length; at += ENTRY_LENGTH) {
      const id = logged[at] ?? 0;
      copyEntry(logged, at, this.#touch(id).numbers, placeOf(id));
    }
  }

  /** What is to be folded, in the order of the table: neighbours share a page of it, which is written once. */
  unfoldedIds(): Float64Array {
    const ids = new Float64Array(this.#unfolded);
    const pages = [...this.#pages].filter(([, { unfolded }]) => unfolded > 0).sort(([a], [b]) => a - b);
    let next = 0;
    for (const [number, { marks }] of pages) {
      for (let i = marks.indexOf(1); i >= 0; i = marks.indexOf(1, i + 1)) ids[next++] = number * PAGE_ACCOUNTS + i;
    }
    return ids;
  }

  /** The newest committed states of these accounts, AccountEntry after AccountEntry. */
  slice(ids: Float64Array): Float64Array {
    const slice = new Float64Array(ids.length * ENTRY_LENGTH);
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] ?? 0;
      copyEntry(this.#page(id).numbers, placeOf(id), slice, i * ENTRY_LENGTH);
    }
    return slice;
  }

  /** The slice is in the table now; an account that changed meanwhile stays unfolded. */
  markFolded(slice: Float64Array): void {
    for (let i = 0; i < slice.length; i += ENTRY_LENGTH) {
      const id = slice[i] ?? 0;
      const page = this.#page(id);
      const at = placeOf(id);
      if (!isEqual(slice, i, page.numbers, at) || page.marks[id & LAST_OF_PAGE] === 0) continue;
      page.marks[id & LAST_OF_PAGE] = 0;
      page.unfolded--;
      this.#unfolded--;
      // A closed account has no row any more: nothing to know of it.
      if (page.numbers[at + KIND] === -1) page.numbers[at + KIND] = NOT_READ;
    }
  }

  /** The page of an account that is about to be newer than its row. */
  #touch(id: number): Page {
    const page = this.#page(id);
    if (page.marks[id & LAST_OF_PAGE] === 1) return page;
    page.marks[id & LAST_OF_PAGE] = 1;
    page.unfolded++;
    this.#unfolded++;
    return page;
  }

  #read(id: number, numbers: Float64Array, at: number): boolean {
    const row = this.#select.get(id) as AccountRow | null;
    if (row === null) return false;
    numbers.set([id, row.kind, row.value, row.mark, row.due_at_ms, row.revision], at);
    return true;
  }

  #page(id: number): Page {
    const number = Math.floor(id / PAGE_ACCOUNTS);
    let page = this.#pages.get(number);
    if (page === undefined) {
      if (this.#pages.size >= this.#maxPages) this.#makeRoom();
      const numbers = new Float64Array(PAGE_ACCOUNTS * ENTRY_LENGTH).fill(NOT_READ);
      page = { numbers, marks: new Uint8Array(PAGE_ACCOUNTS), unfolded: 0 };
      this.#pages.set(number, page);
    }
    return page;
  }

  /** Drops pages that came first of those that can go; one that cannot is looked at again when all others were. */
  #makeRoom(): void {
    for (let tries = 0; tries < EVICTION_TRIES && this.#pages.size >= this.#maxPages; tries++) {
      const first = this.#pages.entries().next();
      if (first.done === true) return;
      const [number, page] = first.value;
      this.#pages.delete(number);
      if (page.unfolded > 0) this.#pages.set(number, page);
    }
  }
}

function placeOf(id: number): number {
  return (id & LAST_OF_PAGE) * ENTRY_LENGTH;
}

function copyEntry(from: Float64Array, at: number, to: Float64Array, place: number): void {
  for (let i = 0; i < ENTRY_LENGTH; i++) to[place + i] = from[at + i] ?? 0;
}

function isEqual(a: Float64Array, atA: number, b: Float64Array, atB: number): boolean {
  for (let i = 0; i < ENTRY_LENGTH; i++) if (a[atA + i] !== b[atB + i]) return false;
  return true;
}
