import type { NewReservation, ReserveOutcome } from '../../core/reservation.ts';
import type { Fence } from '../../core/fence.ts';
import type { Charge, RecordsNote, Spend, SpendOutcome } from '../../core/spend.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import { windowOf } from '../cache/accountOf.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import type { AdHocLimits } from './adHocLimits.ts';
import type { Counting } from './counting.ts';
import { everyFenceOf, fencesOf } from './fences.ts';
import type { ReservationTerms } from './request.ts';
import { ledgerCharges } from './pipeline.ts';

/** Asks the ledger for the strict limits and the credits of a verification. */
export class AskLedger {
  readonly #keys: KeyCache;
  readonly #ledger: Ledger;
  readonly #adHoc: AdHocLimits;
  readonly #refills: RefillPlans;

  constructor(keys: KeyCache, ledger: Ledger, adHoc: AdHocLimits, refills: RefillPlans) {
    this.#keys = keys;
    this.#ledger = ledger;
    this.#adHoc = adHoc;
    this.#refills = refills;
  }

  spend(counting: Counting): PromiseLike<SpendOutcome> {
    return areOpen(counting) ? this.#ledger.spend(this.#spendOf(counting, null)) : this.#openAndSpend(counting);
  }

  /** The same, but the credits are held. */
  async reserve(counting: Counting, terms: ReservationTerms): Promise<ReserveOutcome> {
    const adHoc = areOpen(counting) ? null : await this.#adHoc.accounts(counting.entry, counting.strict);
    const charges = ledgerCharges(counting, { adHoc, refills: this.#refills, nowMs: this.#ledger.nowMs() });
    const wanted = newReservation(counting, terms, false);
    const following = followingOf(counting, charges);
    return this.#ledger.reserve(this.#reservingSpend(counting, charges), { ...wanted, following });
  }

  /** What a retry was answered before; null = nothing. A key whose records have changed gets `stale`: it may no longer be valid. */
  async earlierAnswer(counting: Counting): Promise<ReserveOutcome | null> {
    const { entry, request } = counting;
    if (request.idempotency === null) return null;
    if (request.reservation !== null) {
      const wanted = newReservation(counting, request.reservation, true);
      const outcome = await this.#ledger.reserve(this.#reservingSpend(counting, []), wanted);
      return outcome.spend.status === 'refused' ? null : outcome;
    }
    const check = await this.#ledger.spend({
      charges: [],
      fences: everyFenceOf(counting),
      idempotency: null,
    });
    if (check.status === 'stale') return { spend: check, reservation: null };
    const earlier = await this.#ledger.findAnswer({ scope: entry.id, ...request.idempotency });
    return earlier === null ? null : { spend: earlier, reservation: null };
  }

  /** Ad-hoc strict limits need their accounts first. */
  async #openAndSpend(counting: Counting): Promise<SpendOutcome> {
    const adHoc = await this.#adHoc.accounts(counting.entry, counting.strict);
    return this.#ledger.spend(this.#spendOf(counting, adHoc));
  }

  /** It names all records that decided it, because an earlier reservation is answered before its charges are looked at. */
  #reservingSpend(counting: Counting, charges: readonly Charge[]): Spend {
    return { charges, fences: everyFenceOf(counting), idempotency: null };
  }

  #spendOf(counting: Counting, adHoc: readonly (number | null)[] | null): Spend {
    const charges = ledgerCharges(counting, { adHoc, refills: this.#refills, nowMs: this.#ledger.nowMs() });
    return new VerificationSpend(this.#keys, counting, charges);
  }
}

/** Its fences are made when they are asked for. With a note of the ledger, they are not needed. */
class VerificationSpend implements Spend, RecordsNote {
  readonly charges: readonly Charge[];
  readonly idempotency: Spend['idempotency'];
  readonly #keys: KeyCache;
  readonly #counting: Counting;
  #fences: readonly Fence[] | null = null;

  constructor(keys: KeyCache, counting: Counting, charges: readonly Charge[]) {
    const { entry, request } = counting;
    this.charges = charges;
    this.idempotency = request.idempotency && { scope: entry.id, ...request.idempotency };
    this.#keys = keys;
    this.#counting = counting;
  }

  get fences(): readonly Fence[] {
    return (this.#fences ??= fencesOf(this.#counting));
  }

  /** The note covers the key, its identity and its plan. It does not cover the roles of a request that asks for permissions. */
  get note(): RecordsNote | undefined {
    const { entry, request } = this.#counting;
    const isByItself = entry.identity === null && entry.plan === null;
    return isByItself || request.permissions !== null ? undefined : this;
  }

  get checkedAt(): number {
    return this.#keys.checkedAt(this.#counting.entry);
  }

  set checkedAt(change: number) {
    this.#keys.keepChecked(this.#counting.entry, change);
  }
}

/** All strict limits have an account. */
function areOpen({ entry, strict }: Counting): boolean {
  return strict.every((limit) => limit.account !== null || windowOf(entry, limit) !== null);
}

/** `isOnlyFound`: only an earlier reservation under the same idempotency key is asked for. */
function newReservation(
  { entry, request }: Counting,
  { id, ttlMs, onExpiry }: ReservationTerms,
  isOnlyFound: boolean,
): NewReservation {
  const { credits, sharedCredits, identity } = entry;
  const held = [credits, sharedCredits];
  return {
    id,
    keyId: entry.id,
    apiId: entry.apiId,
    identityId: identity !== null && sharedCredits !== null ? identity.id : null,
    cost: request.creditCost,
    ttlMs,
    onExpiry,
    idempotency: request.idempotency,
    counted: { tags: request.tags, identityId: identity?.id ?? null },
    metered: held.flatMap((each) => (each?.metered ? each.account : [])),
    following: [],
    isOnlyFound,
  };
}

/** Strict limits that the request names with the cost of the reservation: they count the same thing as the credits. */
function followingOf({ request, strict }: Counting, charges: readonly Charge[]): readonly number[] {
  const named = request.limits?.filter(({ cost }) => cost === request.creditCost) ?? [];
  // The charges of strict limits come first.
  return strict.flatMap(({ name }, i) => (named.some((each) => each.name === name) ? (charges[i]?.account ?? []) : []));
}
