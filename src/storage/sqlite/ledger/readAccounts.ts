import type { Database } from 'bun:sqlite';

import type { DueCursor, DueOwner, ReadAccount } from '../../port/storage.ts';
import type { Accounts } from '../accounts.ts';
import type { Batch, SqliteStoredCredits } from './batch.ts';

/** A running commit that changes more than balances. */
interface Committing {
  readonly batch: Batch;
  readonly done: Promise<void>;
}

/**
 * Reads accounts with their pockets. The accounts are in memory, the pockets in the file. From the end of a commit until memory has adopted
 * it, the file is ahead of memory, so a reader of an account of that commit waits.
 */
export class ReadAccounts {
  readonly #accounts: Accounts;
  readonly #credits: SqliteStoredCredits;
  readonly #nowMs: () => number;
  #committing: Committing | null = null;

  constructor(accounts: Accounts, credits: SqliteStoredCredits, nowMs: () => number) {
    this.#accounts = accounts;
    this.#credits = credits;
    this.#nowMs = nowMs;
  }

  /** Called when a commit begins. Call the returned function when memory has adopted the commit, or when it has failed. */
  begin(batch: Batch): () => void {
    if (batch.isPlain) return () => undefined;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#committing = { batch, done };
    return () => {
      this.#committing = null;
      resolve();
    };
  }

  /** Pockets are included when they may matter, that is when something is due. They are unknown while a commit changes them. */
  peek(account: number): ReadAccount | undefined {
    const state = this.#accounts.get(account);
    const isDue = state !== undefined && state.dueAtMs !== 0 && this.#nowMs() >= state.dueAtMs;
    if (!isDue) return state;
    return this.#isChanging([account]) ? undefined : this.#read(account);
  }

  async read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]> {
    if (this.#isChanging(accounts)) {
      await this.#committing?.done;
      return this.read(accounts);
    }
    return accounts.map((id) => this.#read(id));
  }

  #isChanging(accounts: readonly number[]): boolean {
    const batch = this.#committing?.batch;
    return batch !== undefined && accounts.some((account) => batch.accounts.has(account));
  }

  #read(account: number): ReadAccount | undefined {
    const state = this.#accounts.get(account);
    const pockets = state === undefined ? null : this.#credits.pockets(account);
    return state === undefined || pockets === null ? state : { ...state, pockets };
  }
}

/** Uses the index accounts_due, in its order. An account that belongs to neither a key nor an identity has no refill. */
const DUE = `SELECT a.id AS account, a.due_at_ms AS dueAtMs, coalesce(k.id, i.id) AS owner
  FROM accounts a LEFT JOIN keys k ON k.credits_account = a.id LEFT JOIN identities i ON i.credits_account = a.id
  WHERE coalesce(k.id, i.id) IS NOT NULL AND a.due_at_ms > 0 AND a.due_at_ms <= ?1 AND (a.due_at_ms, a.id) > (?2, ?3)
  ORDER BY a.due_at_ms, a.id LIMIT ?4`;

/** Accounts whose refill is due, as the accounts table has them. */
export function readDueOwners(
  db: Database,
  dueUntilMs: number,
  limit: number,
  after: DueCursor | null,
): readonly DueOwner[] {
  return db.query(DUE).all(dueUntilMs, after?.dueAtMs ?? 0, after?.account ?? 0, limit) as DueOwner[];
}
