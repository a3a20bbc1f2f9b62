import { type LimitRecord, type RefillRule } from '../../../src/core/records.ts';
import type { Charge } from '../../../src/core/spend.ts';
import type { KeysUpdateKeyRequest, SharedRatelimit } from '../generated/api.ts';
import type { FakeLedger } from './fakeLedger.ts';
/** What has credits and limits: a key or an identity. */
export interface FakeOwner {
  readonly id: string;
  /** null: no counter, so unlimited. */
  credits: {
    readonly refill: RefillRule | null;
  } | null;
  limits: readonly LimitRecord[];
}
export type CounterFields = Pick<KeysUpdateKeyRequest, 'remaining' | 'refill' | 'ratelimit'> & {
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
};
/** Throws when the fields cannot be set. */
export declare function checkCounters(owner: FakeOwner, fields: CounterFields): void;
/** Sets what is given; null clears, and absent keeps. */
export declare function changeCounters(
  ledger: FakeLedger,
  owner: FakeOwner,
  fields: CounterFields,
  nowMs: number,
): void;
/** The charge of an owner's credits; none without a counter. */
export declare function creditCharges(ledger: FakeLedger, owner: FakeOwner, amount: number, nowMs: number): Charge[];
/** null: unlimited. */
export declare function balanceOf(ledger: FakeLedger, owner: FakeOwner, nowMs: number): number | null;
/** Two limits with the same name, duration, mode and owner are one counter. */
export declare function limitAccount(
  ownerId: string,
  { async, durationMs, name }: Pick<LimitRecord, 'async' | 'durationMs' | 'name'>,
): string;
