import { type AccountMark, type AccountState, type ChargeRule } from './account.ts';
import type { Fence } from './fence.ts';
import type { Pockets } from './pockets.ts';
import { type StatementLine } from './statement.ts';
/** One part of a spend: an amount of one account, under a rule, decided under a revision of the account's record. */
export interface Charge {
  readonly account: number;
  readonly amount: number;
  readonly rule: ChargeRule;
  readonly revision: number;
}
/**
 * What a ledger in the same process knows about the records that decide the spends of one key. The same records decide many spends and
 * seldom change. To find their revisions among 100,000 others takes longer than the rest of a spend.
 */
export interface RecordsNote {
  /** The last change of any record before the ledger compared these records, as the ledger numbers changes; 0 = it never did. */
  checkedAt: number;
}
export interface IdempotencyKey {
  /** The key that is verified. Two keys may use the same idempotency key. */
  readonly scope: string;
  readonly id: string;
  /** Digest of the parsed request. The same id with another request is a conflict. */
  readonly requestDigest: string;
}
/** Charges that are checked in this order. All of them are taken, or none. */
export interface Spend {
  readonly charges: readonly Charge[];
  /** The records that decided this spend, except those whose revision a charge names. */
  readonly fences: readonly Fence[];
  /** About all records that decided this spend. Absent: the ledger notes nothing. */
  readonly note?: RecordsNote | undefined;
  readonly idempotency: IdempotencyKey | null;
}
export interface ChargeResult {
  /** How much can still be used after this spend. */
  readonly left: number;
  /** End of the window, or the instant of the next refill (0 = none). */
  readonly resetAtMs: number;
}
export type SpendOutcome =
  | {
      readonly status: 'taken';
      readonly charges: readonly ChargeResult[];
      readonly nowMs: number;
      readonly replayed: boolean;
    }
  | {
      readonly status: 'refused';
      readonly by: number;
      readonly charges: readonly ChargeResult[];
      readonly nowMs: number;
    }
  /**
   * Decided under an older record or another refill epoch. The caller reloads and asks again. `fence`: the first that is broken.
   * `mark`: where the refill of an account has to begin. `due`: an account whose pockets have to be settled first.
   */
  | {
      readonly status: 'stale';
      readonly nowMs: number;
      readonly fence: Fence | null;
      readonly mark?: AccountMark;
      readonly due?: number;
    }
  /** The idempotency key was used with another request. */
  | {
      readonly status: 'conflict';
    }
  /** The key has too many live idempotency keys. */
  | {
      readonly status: 'crowded';
    }
  /** This spend alone failed (its row breaks a constraint). The others of its batch were carried out. */
  | {
      readonly status: 'failed';
      readonly reason: string;
    };
/** The answer that a charged spend leaves under its idempotency key. */
export interface RememberedAnswer {
  readonly requestDigest: string;
  readonly charges: readonly ChargeResult[];
  readonly nowMs: number;
}
/** What `decideSpend` reads and writes: accounts and remembered answers, as the spends before this one left them. */
export interface LedgerView {
  /** The fenced record still has the revision that the fence names. */
  holds(fence: Fence): boolean;
  /** The number of the last change of any record, from 1 on. 0: notes about records are not used. */
  readonly lastChange: number;
  account(id: number): AccountState | undefined;
  /** null = the account has none. Asked for only when something is due. */
  pockets(id: number): Pockets | null;
  put(id: number, state: AccountState): void;
  /** Adds lines to the statement of an account. */
  addLines(id: number, lines: readonly StatementLine[]): void;
  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined;
  liveIdempotencyKeys(scope: string): number;
  remember(key: IdempotencyKey, answer: RememberedAnswer): void;
}
/**
 * The reference for every ledger: decides one spend on the state that the spends before it left. A batch has the same result as
 * this function called for its spends one by one, in arrival order. The conformance suite compares every adapter with it.
 */
export declare function decideSpend(view: LedgerView, spend: Spend, nowMs: number, maxLiveKeys: number): SpendOutcome;
/** The remembered answer under this idempotency key, a conflict, or null when there is none. */
export declare function answerUnder(view: LedgerView, key: IdempotencyKey): SpendOutcome | null;
/** An outcome in which the ledger has decided: all charges were taken, or none. */
export type DecidedSpend = SpendOutcome & {
  readonly status: 'taken' | 'refused';
};
