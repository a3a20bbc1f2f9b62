import type { ChargeRule } from '../../core/account.ts';
import { MAX_METERED_COST } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { Charge } from '../../core/spend.ts';
import { type AppliedLimit, accountOf, type KeyEntry, windowOf, type IdentityEntry } from '../cache/entries.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import { type LocalLimits, findWindow, type LocalCharge, type LocalOwner } from '../localLimits.ts';
import type { RefillSchedules } from '../refillSchedules.ts';
import { type AdHocLimits, type Counting, ownerOf } from './effectiveLimits.ts';
import type { Ledger } from '../../storage/port/storage.ts';

const WITHOUT_REFILL: ChargeRule = { kind: 'credits', refill: null };

/** What the charges of one spend are made with. */
export interface ChargeContext {
  /** The accounts of the ad-hoc limits among the strict ones, by index; null: there are none. */
  readonly adHoc: readonly (number | null)[] | null;
  readonly refills: RefillSchedules;
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

/** Work that a verification waits for before its local limits can be counted. */
export type Preparation = () => Promise<void>;

const NO_CHARGES: readonly LocalCharge[] = [];

/** Finds the windows of local limits. */
export class LocalCharges {
  readonly #keys: KeyCache;
  readonly #localLimits: LocalLimits;
  readonly #adHoc: AdHocLimits;
  readonly #ledger: Ledger;

  constructor(keys: KeyCache, localLimits: LocalLimits, adHoc: AdHocLimits, ledger: Ledger) {
    this.#keys = keys;
    this.#localLimits = localLimits;
    this.#adHoc = adHoc;
    this.#ledger = ledger;
  }

  /** One charge for each local limit; or what to wait for first: loading saved counts, or space for an ad-hoc limit. */
  of(entry: KeyEntry, limits: readonly AppliedLimit[], nowMs: number): readonly LocalCharge[] | Preparation {
    let charges: LocalCharge[] | null = null;
    for (const applied of limits) {
      if (!applied.async) continue;
      const owner = applied.ofIdentity ? this.#sharedOwner(entry.identity) : this.#ownOwner(entry);
      if (owner === undefined) return this.#loading(ownerOf(entry, applied));
      const isNew = applied.isAdHoc && findWindow(owner.windows, applied) === undefined;
      if (isNew && !this.#adHoc.mayOpenLocal(entry, nowMs)) return this.#makingSpace(entry);
      const window = this.#localLimits.window(owner, applied, nowMs);
      charges ??= [];
      charges.push({ window, limit: applied.limit, cost: applied.cost, resetAtMs: window.resetAtMs });
    }
    return charges ?? NO_CHARGES;
  }

  // A method of its own: a closure inside the loop above would be allocated for every verification.
  #loading(owner: string): Preparation {
    return () => this.#localLimits.load(owner, this.#ledger.nowMs());
  }

  #makingSpace(entry: KeyEntry): Preparation {
    return () => this.#adHoc.requireSpace(entry);
  }

  /** The key keeps its owner, and the identity does, because a lookup by id among 100,000 owners costs more. */
  #ownOwner(entry: KeyEntry): LocalOwner | undefined {
    if (entry.local !== null && !entry.local.isForgotten) return entry.local;
    const owner = this.#localLimits.owner(entry.id);
    if (owner !== undefined) this.#keys.keepLocal(entry, owner);
    return owner;
  }

  #sharedOwner(identity: IdentityEntry | null): LocalOwner | undefined {
    if (identity === null) throw new Error('only a key of an identity has limits of it');
    const known = identity.local;
    if (known !== null && !known.isForgotten) return known;
    const owner = this.#localLimits.owner(identity.id);
    if (owner !== undefined) identity.keepLocal(owner);
    return owner;
  }
}
