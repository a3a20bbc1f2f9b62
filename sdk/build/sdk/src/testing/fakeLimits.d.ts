import { type LimitRecord } from '../../../src/core/records.ts';
import type { Charge } from '../../../src/core/spend.ts';
import type { VerifyRequest } from '../generated/api.ts';
import { type FakeOwner } from './fakeCounters.ts';
import type { FakeLedger } from './fakeLedger.ts';
/** A limit that one verification counts. */
export interface AppliedLimit extends Omit<LimitRecord, 'account' | 'autoApply' | 'notify'> {
  readonly cost: number;
  readonly ownerId: string;
}
/**
 * All limits of the key, those of its identity that apply by themselves, and those that the request names. The cost of a request
 * counts in each limit of that name; its numbers replace those of the key's limit, else those of the identity's. With limit and duration, a
 * request makes an ad-hoc limit, which counts for the identity if there is one.
 */
export declare function appliedLimits(
  key: FakeOwner,
  identity: FakeOwner | null,
  request: VerifyRequest,
): AppliedLimit[];
/** A strict limit that is not configured with this duration has a counter of its own, also when it is configured later. */
export declare function limitCharge(
  ledger: FakeLedger,
  { ownerId, cost, ...limit }: AppliedLimit,
  owners: readonly FakeOwner[],
): Charge;
