import type { Ledger } from '../../storage/port/storage.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import type { IdentityEntry } from '../cache/identityEntry.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { findWindow, type LocalCharge, type LocalOwner } from '../local/localWindow.ts';
import type { AdHocLimits } from './adHocLimits.ts';
import { ownerOf } from './appliedLimits.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';

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
