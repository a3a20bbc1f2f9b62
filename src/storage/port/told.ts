import type { AccountLine } from './creditWrites.ts';

export interface ToldCredits {
  readonly account: number;
  readonly type: string;
  readonly below: number;
}

/** A refill that no event has told of, and who has the credits; null = nobody any more. */
export interface UntoldRefill extends AccountLine {
  readonly owner: string | null;
  /** Of a key: its api, and the external id of its identity. Of an identity: its own external id. */
  readonly apiId: string | null;
  readonly externalId: string | null;
  readonly planId: string | null;
}

export interface Patrolled {
  /** Keys and identities whose credits may have to be told of. */
  readonly owners: readonly string[];
  /** The last account that was looked at; null = it was the end. */
  readonly last: number | null;
}

/** What events have told of credits. The ledger writes it, with the events. */
export interface Told {
  credits(accounts: readonly number[]): Promise<readonly ToldCredits[]>;
  /**
   * Looks at the next accounts after a number, at most `count`. Finds balances below a threshold or at 0 that no event has told of.
   * `credits.exhausted` is only for balances spent to 0, not set to 0.
   */
  patrol(after: number, count: number): Promise<Patrolled>;
  untoldRefills(limit: number): Promise<readonly UntoldRefill[]>;
  /** Forgets a bounded number of limits whose window ended before then. True when none is left. */
  pruneLimits(endedBeforeMs: number): Promise<boolean>;
}
