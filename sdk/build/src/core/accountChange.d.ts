import { type AccountMark, type AccountState, type RefillPlan } from './account.ts';
import type { Pockets } from './pockets.ts';
import type { StatementLine } from './statement.ts';
/** A management change of one account. It goes through the same queue and the same commit as the change of its record. */
export interface AccountChange {
  readonly account: number;
  /** The revision that the change was made from. Any other one makes the change stale. Ignored when the change opens the account. */
  readonly expect: number;
  /** Opens the account, which must not exist yet. */
  readonly open?: 'credits' | 'window';
  /** With `open` or `close` of credits: they are counted without a balance. Such an account begins at METERED_ZERO. */
  readonly metered?: true;
  /** Removes the account. */
  readonly close?: true;
  /** With `close` of credits: the key or identity that they belong to. Its statement keeps their lines. */
  readonly owner?: string;
  /** With `close`: closes a window only if it ends by this instant, so that a window that runs again keeps its count. */
  readonly endedByMs?: number;
  /** The refill rule in force until now. Its passed boundaries are applied before the change. */
  readonly refill: RefillPlan | null;
  readonly set?: number;
  /** Added to the value; a negative number is subtracted. The result stays within 0 and 2^53-1. */
  readonly add?: number;
  /** Credits that are granted. With `expiresAtMs` they are spent before those that do not expire. */
  readonly grant?: {
    readonly id: string;
    readonly amount: number;
    readonly expiresAtMs: number | null;
  };
  /** The end of a new window, or the beginning of the running epoch of a new refill rule. That rule refills at its next boundary. */
  readonly mark?: number;
  /** When the sweep next looks at the account because of a refill. 0 = never (no refill rule). */
  readonly dueAtMs?: number;
  /** The key is deleted: the sweep does not look at the account any more. */
  readonly sleeps?: true;
  /** When the next reservation of the account expires; 0 = there is none. All that expired before are ended. */
  readonly heldUntilMs?: number;
  /** Only while the balance is not higher than this, with all that was due. Otherwise the change is stale. */
  readonly atMost?: number;
  readonly revision: number;
}
/** An account after a change; null = it is closed. */
export interface ChangedAccount {
  readonly state: AccountState | null;
  /** Its value before the change, with all that was due; null = it is opened. */
  readonly valueBefore: number | null;
  readonly pockets: Pockets | null;
  readonly lines: readonly StatementLine[];
}
/** The mark that a stale change was not planned from; undefined: that is not the reason. */
export declare function markBeside(change: AccountChange, state: AccountState | undefined): AccountMark | undefined;
/** The account after the change; 'stale' when the change does not fit the present state. */
export declare function changed(
  state: AccountState | undefined,
  pockets: Pockets | null,
  change: AccountChange,
  nowMs: number,
): ChangedAccount | 'stale';
