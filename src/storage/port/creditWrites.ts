import type { Pockets } from '../../core/pockets.ts';
import type { Reservation } from '../../core/reservation.ts';
import type { StatementLine } from '../../core/statement.ts';

/** What a commit of the ledger writes beside its accounts. */
export interface CreditWrites {
  readonly lines: readonly AccountLine[];
  /** null = the account has none any more. */
  readonly pockets: readonly { readonly account: number; readonly pockets: Pockets | null }[];
  readonly reservations: readonly Reservation[];
  /** Accounts whose balance has risen, and to what. What was told of a lower balance is forgotten. */
  readonly risen: readonly { readonly account: number; readonly value: number }[];
  /** Accounts of credits that were closed. Their lines stay in the statement of their owner. */
  readonly closed: readonly ClosedAccount[];
}

export interface ClosedAccount {
  readonly account: number;
  readonly owner: string;
  readonly metered: boolean;
}

/** A line, or a part of one, of the statement of an account. */
export interface AccountLine {
  readonly account: number;
  readonly line: StatementLine;
}
