import { type AccountState, type RefillPlan } from './account.ts';
import { type Pockets, type Taken } from './pockets.ts';
import { type StatementLine } from './statement.ts';
/** An account of credits after something happened to it, and the lines of its statement that this writes. */
export interface Booked {
  readonly state: AccountState;
  /** null = it needs none. */
  readonly pockets: Pockets | null;
  readonly lines: readonly StatementLine[];
}
/**
 * The value that a metered account begins with. Every spend lowers it. What is shown is the value minus this number: -5 means that 5 were
 * used. Spends cannot use it up, because the cost of a verification is bounded (MAX_METERED_COST).
 */
export declare const METERED_ZERO: number;
/**
 * One account of credits while something other than a plain spend happens to it. It keeps three things right together: the balance, the
 * pockets, and the lines of the statement. `upTo` comes first: it applies what has become due.
 */
export declare class AccountBook {
  #private;
  constructor(state: AccountState, pockets: Pockets | null);
  /** An account that is opened at this instant, with this value to begin with. */
  static open(atMs: number, mark: number, value: number): AccountBook;
  get value(): number;
  /** Applies the refills and the expiries up to now, in their order, and begins the line of the present day. */
  upTo(plan: RefillPlan | null, nowMs: number): this;
  /** Adds to the balance, or takes from it as a spend would. The result stays within 0 and 2^53-1. */
  adjust(by: number): this;
  set(value: number): this;
  /** Adds credits. With `expiresAtMs` they are a pocket of their own. */
  grant(id: string, amount: number, expiresAtMs: number | null): this;
  /** Takes what a reservation holds. The balance must have it. */
  hold(amount: number, untilMs: number): Taken;
  /**
   * Ends a reservation: what was not charged comes back, into the pockets it came from. An expired pocket gets nothing back. Answers how
   * much came back.
   */
  giveBack({ grants, own }: Taken, charged: number, nowMs: number): number;
  /** A spend of at most this amount. Answers how much it was. */
  spend(most: number): number;
  /** Gives the account another refill rule: a new period begins. */
  reschedule(mark: number | undefined, dueAtMs: number | undefined, nowMs: number): this;
  /** No reservation that expired before this instant is left; 0 = there is none. */
  heldUntil(atMs: number, nowMs: number): this;
  /**
   * The last lines of an account that is closed. Its credits are gone. What was metered stays, and what reservations hold of it counts as
   * used: it can no longer be settled.
   */
  close(isMetered: boolean): readonly StatementLine[];
  booked(revision: number): Booked;
}
