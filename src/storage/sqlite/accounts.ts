import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../core/account.ts';
import { type AccountEntry, ENTRY_LENGTH, fromAccountEntry, toAccountEntry } from './rows.ts';

/** How many accounts are kept that stand in the table as they are; the oldest go first. */
const MAX_CLEAN = 200_000;

/** Accounts on their way into the table. */
export interface FoldSlice {
  readonly states: ReadonlyMap<number, AccountState | null>;
  /** AccountEntry after AccountEntry. */
  readonly numbers: Float64Array;
}

interface AccountRow {
  kind: number;
  value: number;
  mark: number;
  due_at_ms: number;
  revision: number;
}

/**
 * The committed accounts, in two parts:
 *
 *   unfolded   in the log, newer than their row; null = closed. Never dropped before they are folded.
 *   clean      equal to their row; a bounded cache.
 *
 * What a batch under way has decided is not here: it comes in when its commit is durable (`adopt`), so memory is always
 * equal to disk.
 */
export class Accounts {
  readonly #db: Database;
  readonly #unfolded = new Map<number, AccountState | null>();
  readonly #clean = new Map<number, AccountState>();
  readonly #select;

  constructor(db: Database) {
    this.#db = db;
    this.#select = db.query('SELECT kind, value, mark, due_at_ms, revision FROM accounts WHERE id = ?');
  }

  get unfoldedSize(): number {
    return this.#unfolded.size;
  }

  get(id: number): AccountState | undefined {
    const unfolded = this.#unfolded.get(id);
    if (unfolded !== undefined) return unfolded ?? undefined;
    return this.#clean.get(id) ?? this.#load(id);
  }

  adopt(states: ReadonlyMap<number, AccountState | null>): void {
    for (const [id, state] of states) this.#unfolded.set(id, state);
  }

  /** Reads the tail of the log; answers the number of its last commit. */
  replay(): number {
    const rows = this.#db.query('SELECT number, entries FROM ledger_log ORDER BY number').iterate() as Iterable<{
      number: number;
      entries: string;
    }>;
    let last = 0;
    for (const { number, entries } of rows) {
      last = number;
      for (const entry of JSON.parse(entries) as AccountEntry[]) this.#unfolded.set(entry[0], fromAccountEntry(entry));
    }
    return last;
  }

  /** What is to be folded, in the order of the table: neighbours share a page, and a page is written once. */
  unfoldedIds(): number[] {
    return [...this.#unfolded.keys()].sort((a, b) => a - b);
  }

  /** The newest committed states of these accounts, as they are to stand in the table. */
  slice(ids: readonly number[]): FoldSlice {
    const states = new Map<number, AccountState | null>();
    for (const id of ids) {
      const state = this.#unfolded.get(id);
      if (state !== undefined) states.set(id, state);
    }
    return { states, numbers: toNumbers(states) };
  }

  /** The slice is in the table now; an account that changed meanwhile stays unfolded. */
  markFolded({ states }: FoldSlice): void {
    for (const [id, state] of states) {
      if (this.#unfolded.get(id) !== state) continue;
      this.#unfolded.delete(id);
      if (state !== null) this.#keep(id, state);
    }
  }

  #load(id: number): AccountState | undefined {
    const row = this.#select.get(id) as AccountRow | null;
    if (row === null) return undefined;
    const state = fromAccountEntry([id, row.kind, row.value, row.mark, row.due_at_ms, row.revision]);
    if (state === null) return undefined;
    this.#keep(id, state);
    return state;
  }

  #keep(id: number, state: AccountState): void {
    this.#clean.delete(id);
    this.#clean.set(id, state);
    if (this.#clean.size <= MAX_CLEAN) return;
    const oldest = this.#clean.keys().next();
    if (oldest.done !== true) this.#clean.delete(oldest.value);
  }
}

/** Entries one after the other: numbers in one block cost a thread nothing to take over. */
function toNumbers(states: ReadonlyMap<number, AccountState | null>): Float64Array {
  const numbers = new Float64Array(states.size * ENTRY_LENGTH);
  let i = 0;
  for (const [id, state] of states) {
    numbers.set(toAccountEntry(id, state), i);
    i += ENTRY_LENGTH;
  }
  return numbers;
}
