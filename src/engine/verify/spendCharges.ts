import type { ChargeRule } from '../../core/account.ts';
import { MAX_METERED_COST } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { Charge } from '../../core/spend.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { accountOf, windowOf } from '../cache/accountOf.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { Counting } from './counting.ts';

const WITHOUT_REFILL: ChargeRule = { kind: 'credits', refill: null };

/**
 * The charges of one spend, in the order of the pipeline: strict limits, then the credits of the key, then those of its identity.
 * `adHoc`: the accounts of the ad-hoc limits among the strict ones, by index.
 */
export function exactCharges(
  { entry, request, strict }: Counting,
  adHoc: readonly (number | null)[] | null,
  refills: RefillPlans,
  nowMs: number,
): readonly Charge[] {
  const charges: Charge[] = [];
  const { credits, sharedCredits, identity } = entry;
  for (let i = 0; i < strict.length; i++) charges.push(strictCharge(entry, strict[i] as AppliedLimit, adHoc?.[i] ?? 0));
  if (credits !== null) charges.push(creditCharge(credits, request.creditCost, entry.revision, refills, nowMs));
  if (identity !== null && sharedCredits !== null) {
    charges.push(creditCharge(sharedCredits, request.creditCost, identity.revision, refills, nowMs));
  }
  return charges;
}

function strictCharge(entry: KeyEntry, applied: AppliedLimit, adHocAccount: number): Charge {
  const { cost, limit, durationMs, ofIdentity } = applied;
  const account = accountOf(entry, applied);
  const rule = { kind: 'window', limit, durationMs } as const;
  const revision = account === null ? 0 : ofIdentity ? (entry.identity?.revision ?? 0) : entry.revision;
  return { account: account ?? windowOf(entry, applied) ?? adHocAccount, amount: cost, rule, revision };
}

function creditCharge(
  { account, refill, metered }: HeldCredits,
  amount: number,
  revision: number,
  refills: RefillPlans,
  nowMs: number,
): Charge {
  if (metered && amount > MAX_METERED_COST) {
    const most = `A metered verification costs at most ${MAX_METERED_COST}`;
    throw new AppError('BAD_REQUEST', `${most}, got ${amount}.`);
  }
  const rule: ChargeRule =
    refill === null ? WITHOUT_REFILL : { kind: 'credits', refill: refills.plan(refill, account, nowMs) };
  return { account, amount, rule, revision };
}
