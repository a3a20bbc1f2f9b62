import type { LegRule } from '../../core/account.ts';
import type { CreditsRecord } from '../../core/records.ts';
import type { Leg } from '../../core/spend.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { accountOf } from '../cache/accountOf.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { Counting } from './counting.ts';

const WITHOUT_REFILL: LegRule = { kind: 'credits', refill: null };

/**
 * The legs of one spend, in the order of the pipeline: strict limits, then the credits of the key, then those of its identity.
 * `adHoc`: the accounts of the ad-hoc limits among the strict ones, by index.
 */
export function exactLegs(
  { entry, request, strict }: Counting,
  adHoc: readonly (number | null)[] | null,
  refills: RefillPlans,
  nowMs: number,
): readonly Leg[] {
  const legs: Leg[] = [];
  const { credits, identity } = entry;
  for (let i = 0; i < strict.length; i++) legs.push(strictLeg(entry, strict[i] as AppliedLimit, adHoc?.[i] ?? 0));
  if (credits !== null) legs.push(creditLeg(credits, request.creditCost, entry.revision, refills, nowMs));
  if (identity !== null && identity.credits !== null) {
    legs.push(creditLeg(identity.credits, request.creditCost, identity.revision, refills, nowMs));
  }
  return legs;
}

function strictLeg(entry: KeyEntry, applied: AppliedLimit, adHocAccount: number): Leg {
  const { cost, limit, durationMs, ofIdentity } = applied;
  const account = accountOf(entry, applied);
  const rule = { kind: 'window', limit, durationMs } as const;
  const revision = account === null ? 0 : ofIdentity ? (entry.identity?.revision ?? 0) : entry.revision;
  return { account: account ?? adHocAccount, amount: cost, rule, revision };
}

function creditLeg(
  { account, refill }: CreditsRecord,
  amount: number,
  revision: number,
  refills: RefillPlans,
  nowMs: number,
): Leg {
  const rule: LegRule = refill === null ? WITHOUT_REFILL : { kind: 'credits', refill: refills.plan(refill, nowMs) };
  return { account, amount, rule, revision };
}
