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

/** What the charges of one spend are made with. */
export interface ChargeContext {
  /** The accounts of the ad-hoc limits among the strict ones, by index; null: there are none. */
  readonly adHoc: readonly (number | null)[] | null;
  readonly refills: RefillPlans;
  readonly nowMs: number;
}

/** Counters of one kind, which the ledger counts. */
export interface LedgerCounters {
  /** How many of them this verification is charged to. */
  count(counting: Counting): number;
  charge(counting: Counting, index: number, context: ChargeContext): Charge;
}

export interface CreditCounter extends LedgerCounters {
  /** null: the key has none. */
  credits(entry: KeyEntry): HeldCredits | null;
}

export const STRICT_LIMITS: LedgerCounters = {
  count: ({ strict }) => strict.length,
  charge: ({ entry, strict }, index, { adHoc }) =>
    strictCharge(entry, strict[index] as AppliedLimit, adHoc?.[index] ?? 0),
};

export const OWN_CREDITS: CreditCounter = {
  credits: ({ credits }) => credits,
  count: ({ entry }) => (entry.credits === null ? 0 : 1),
  charge: ({ entry, request }, _index, context) =>
    creditCharge(entry.credits as HeldCredits, request.creditCost, entry.revision, context),
};

export const SHARED_CREDITS: CreditCounter = {
  credits: ({ sharedCredits }) => sharedCredits,
  count: ({ entry }) => (entry.sharedCredits === null ? 0 : 1),
  charge: ({ entry, request }, _index, context) =>
    creditCharge(entry.sharedCredits as HeldCredits, request.creditCost, entry.identity?.revision ?? 0, context),
};

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
  { refills, nowMs }: ChargeContext,
): Charge {
  if (metered && amount > MAX_METERED_COST) {
    const most = `A metered verification costs at most ${MAX_METERED_COST}`;
    throw new AppError('BAD_REQUEST', `${most}, got ${amount}.`);
  }
  const rule: ChargeRule =
    refill === null ? WITHOUT_REFILL : { kind: 'credits', refill: refills.plan(refill, account, nowMs) };
  return { account, amount, rule, revision };
}
