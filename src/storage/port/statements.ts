import type { CreditCall, CreditsRecord } from '../../core/records.ts';
import type { AccountLine, ClosedAccount } from './creditWrites.ts';

/** Where the lines of an account are read from. */
export interface LineSpan {
  readonly account: number;
  readonly fromMs: number;
}

/** A position among lines, which are sorted by beginning and account. */
export interface LineCursor {
  readonly account: number;
  readonly startMs: number;
}

export interface LineQuery {
  readonly spans: readonly LineSpan[];
  /** Only lines that begin before then; null = all. */
  readonly untilMs: number | null;
  readonly after: LineCursor | null;
  readonly limit: number;
}

/** A key or an identity that has credits, or had some. */
export interface Holder {
  readonly id: string;
  /** Of a key; null: it is an identity, or was deleted for good. */
  readonly apiId: string | null;
  /** Of an identity; null: it is a key, or was deleted for good. */
  readonly externalId: string | null;
  /** null = it has none at present. */
  readonly credits: CreditsRecord | null;
  readonly planId: string | null;
  /** When it moves to another plan; null = it does not. */
  readonly movesAtMs: number | null;
  /** It is deleted: nothing refills its credits. */
  readonly isDeleted: boolean;
}

export interface HolderQuery {
  /** Only holders of this plan; null = all that have credits or had some. */
  readonly planId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** The statements of accounts. The ledger writes them. */
export interface Statements {
  /** Lines of these accounts, by beginning and account. */
  lines(query: LineQuery): Promise<readonly AccountLine[]>;
  /** The refill period that the last line before an instant is in. An account without such a line is left out. */
  periodsBefore(
    accounts: readonly number[],
    atMs: number,
  ): Promise<readonly { readonly account: number; readonly periodMs: number }[]>;
  /** Accounts of credits that a key or identity had before. */
  closedAccountsOf(owners: readonly string[]): Promise<readonly ClosedAccount[]>;
  /** Those of these keys and identities that have credits or had some, by id. */
  findHolders(ids: readonly string[]): Promise<readonly Holder[]>;
  /** By id, also those that were deleted for good. */
  listHolders(query: HolderQuery): Promise<readonly Holder[]>;
  /** The call of a key or identity under this idempotency key; null = none. */
  findCreditCall(owner: string, idempotencyId: string): Promise<CreditCall | null>;
  /** Removes a bounded number of lines, and of calls, that began before then. True when none is left. */
  prune(beganBeforeMs: number, calledBeforeMs: number): Promise<boolean>;
}
