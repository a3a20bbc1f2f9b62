import type { ReadAccount } from '../../port/storage.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Batch } from './batch.ts';
import type { SqliteStoredCredits } from './storedCredits.ts';

/** A commit under way that changes more than balances. */
interface Committing {
  readonly batch: Batch;
  readonly done: Promise<void>;
}

/**
 * Reads accounts with their pockets. The accounts are in memory, the pockets in the file. From the end of a commit until memory has taken
 * it over, the file is ahead of memory: whoever asks for an account of that commit waits.
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

  /** A commit has begun. The function that this answers says that memory has taken it over, or that it failed. */
  begin(batch: Batch): () => void {
    if (batch.isPlain) return () => undefined;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#committing = { batch, done };
    return () => {
      this.#committing = null;
      resolve();
    };
  }

  /** The pockets come along where they may matter: when something is due. Unknown while a commit changes them. */
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
