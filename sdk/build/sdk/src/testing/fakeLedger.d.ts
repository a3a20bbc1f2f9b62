import { type AccountState } from '../../../src/core/account.ts';
import { type AccountChange } from '../../../src/core/accountChange.ts';
import { type Charge, type ChargeResult, type IdempotencyKey, type SpendOutcome } from '../../../src/core/spend.ts';
/** Counts credits and windows in memory, with the functions that are the reference for every ledger of the service. */
export declare class FakeLedger {
  #private;
  /** The number of an account; an account that is new starts empty. */
  account(name: string, kind: AccountState['kind']): number;
  /** Up to where the refills of an account are applied. */
  markOf(account: number): number;
  close(name: string): void;
  /** Answers the new value. */
  change(
    account: number,
    by: Pick<AccountChange, 'refill' | 'set' | 'add' | 'mark' | 'dueAtMs'>,
    nowMs: number,
  ): number;
  /** What a charge would see now. */
  look(
    { account, rule, amount }: Charge,
    nowMs: number,
  ): ChargeResult & {
    readonly allows: boolean;
  };
  spend(charges: readonly Charge[], idempotency: IdempotencyKey | null, nowMs: number): SpendOutcome;
  /** The remembered answer, or a conflict; null when there is none. */
  earlierAnswer(idempotency: IdempotencyKey, nowMs: number): SpendOutcome | null;
}
