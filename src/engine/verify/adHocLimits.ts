import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { type Ledger, StorageUnavailable, type WindowName } from '../../storage/port/storage.ts';
import { dropFirst } from '../../core/dropFirst.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { KeyCache } from '../cache/keyCache.ts';
import { ownerOf } from './appliedLimits.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import { OneAtATime } from '../oneAtATime.ts';
import { liveAdHoc, tooManyAdHocLimits } from '../local/localWindow.ts';

const MAX = MAX_ADHOC_LIMITS_PER_OWNER;
/** Owners whose number of strict ad-hoc limits is kept in memory. */
const MAX_COUNTED = 10_000;
/** How long a count is used on a shared database, where other nodes open strict limits too. */
const SHARED_COUNT_MS = 1_000;

interface Count {
  readonly strict: number;
  readonly atMs: number;
}

/**
 * Bounds the number of ad-hoc limits of one key: local and strict ones together, its own and those of its identity.
 *
 * A local limit is opened in memory, in the turn of the request. That needs the number of strict ones, which is kept here.
 * A strict limit is opened by the database, which is told how many strict ones the owner may have.
 * Opening or counting strict limits of one key or identity is done one at a time. Opening a strict one first forgets their number.
 * While the number is unknown, no local limit is opened; so none is opened while a strict one is being opened. The next request for
 * a new local limit waits for its turn in the same queue, and counts again.
 */
export class AdHocLimits {
  readonly #keys: KeyCache;
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #counts = new Map<string, Count>();
  readonly #oneAtATime = new OneAtATime(
    'Too many ad-hoc limits of one owner are waiting to be created; nothing was spent. Try again.',
  );

  constructor(keys: KeyCache, localLimits: LocalLimits, ledger: Ledger) {
    this.#keys = keys;
    this.#localLimits = localLimits;
    this.#ledger = ledger;
  }

  /** One more local limit may be opened in this turn. False: `requireSpace` first. Throws when the limits in memory alone are too many. */
  mayOpenLocal(entry: KeyEntry, nowMs: number): boolean {
    let total = 0;
    let isKnown = true;
    for (const id of ownersOf(entry)) {
      const owner = this.#localLimits.owner(id);
      const strict = this.#strictOf(id, nowMs);
      if (owner === undefined || strict === null) isKnown = false;
      if (owner !== undefined) total += liveAdHoc(owner, configuredOf(entry, id), nowMs);
      if (total >= MAX) throw tooManyAdHocLimits();
      total += strict ?? 0;
    }
    return isKnown && total < MAX;
  }

  /** Counts the limits again, and closes ended ones if there is no space. Throws when there is still none. */
  async requireSpace(entry: KeyEntry): Promise<void> {
    await this.#oneAtATime.run(queueOf(entry), async () => {
      await this.#count(entry);
      if (this.mayOpenLocal(entry, this.#ledger.nowMs())) return;
      await this.#closeEnded(entry);
      await this.#count(entry);
      if (!this.mayOpenLocal(entry, this.#ledger.nowMs())) throw tooManyAdHocLimits();
    });
  }

  /**
   * The accounts of the strict limits that have none in their record: ad-hoc limits, and those of a plan; null for the others. Missing
   * accounts are opened one after the other: a refusal opens no further ones.
   */
  async accounts(entry: KeyEntry, strict: readonly AppliedLimit[]): Promise<(number | null)[]> {
    const windowOf = (limit: AppliedLimit): WindowName | null =>
      limit.account === null ? { owner: ownerOf(entry, limit), name: limit.name, durationMs: limit.durationMs } : null;
    const windows = strict.map(windowOf);
    const found = await Promise.all(windows.map(async (window) => window && this.#ledger.openWindow(window, 0)));
    for (const [i, window] of windows.entries()) {
      if (window === null || found[i] !== null) continue;
      // The windows of a plan are not bounded here: their limits are.
      found[i] = strict[i]?.isAdHoc
        ? await this.#oneAtATime.run(queueOf(entry), () => this.#open(entry, window))
        : await this.#ledger.openWindow(window, null);
    }
    for (const [i, limit] of strict.entries()) {
      const account = found[i] ?? null;
      if (account !== null && !limit.isAdHoc) this.#keys.keepWindow(entry, limit, account);
    }
    return found;
  }

  /** `openWindow` closes ended windows of this owner by itself. Those of the other owner are closed here when there is no space. */
  async #open(entry: KeyEntry, window: WindowName): Promise<number> {
    for (const isTidied of ownersOf(entry).length === 1 ? [false] : [false, true]) {
      if (isTidied) await this.#closeEnded(entry);
      const left = MAX - (await this.#countBeside(entry, window.owner));
      const account = left > 0 ? await this.#ledger.openWindow(window, left) : null;
      if (account !== null) return account;
    }
    throw tooManyAdHocLimits();
  }

  #strictOf(id: string, nowMs: number): number | null {
    const count = this.#counts.get(id);
    if (count === undefined) return null;
    const ageMs = nowMs - count.atMs;
    // A clock that is set back makes a count old, too.
    return !this.#localLimits.isShared || (ageMs >= 0 && ageMs < SHARED_COUNT_MS) ? count.strict : null;
  }

  async #count(entry: KeyEntry): Promise<void> {
    for (const id of ownersOf(entry)) {
      await this.#localLimits.load(id, this.#ledger.nowMs());
      const strict = await this.#countStrict(id);
      if (this.#counts.size >= MAX_COUNTED) dropFirst(this.#counts);
      this.#counts.set(id, { strict, atMs: this.#ledger.nowMs() });
    }
  }

  /** Without a database, a node of several continues with its local limits and the last count. It opens no strict limits then. */
  async #countStrict(id: string): Promise<number> {
    try {
      return await this.#ledger.countWindows(id, MAX);
    } catch (error) {
      if (!this.#localLimits.isShared || !(error instanceof StorageUnavailable)) throw error;
      return this.#counts.get(id)?.strict ?? 0;
    }
  }

  /** All ad-hoc limits except the strict ones of this owner, which the database counts when it opens one. */
  async #countBeside(entry: KeyEntry, owner: string): Promise<number> {
    const ids = ownersOf(entry);
    for (const id of ids) await this.#localLimits.load(id, this.#ledger.nowMs());
    // From here on no local limit is opened.
    this.#counts.delete(owner);
    const nowMs = this.#ledger.nowMs();
    let others = 0;
    for (const id of ids) {
      const loaded = this.#localLimits.owner(id);
      if (loaded !== undefined) others += liveAdHoc(loaded, configuredOf(entry, id), nowMs);
    }
    for (const id of ids) if (id !== owner) others += await this.#ledger.countWindows(id, MAX);
    return others;
  }

  async #closeEnded(entry: KeyEntry): Promise<void> {
    for (const id of ownersOf(entry)) await this.#ledger.closeEndedWindows(id, MAX, null);
  }
}

/** For a key with an identity, ad-hoc limits count for the identity. Only a limit of the key with another duration counts for the key. */
function ownersOf({ id, identity, limits }: KeyEntry): readonly string[] {
  if (identity === null) return [id];
  return limits === null ? [identity.id] : [id, identity.id];
}

function queueOf({ id, identity }: KeyEntry): string {
  return identity?.id ?? id;
}

function configuredOf({ id, identity, limits }: KeyEntry, owner: string): readonly AppliedLimit[] | null {
  return owner === id ? limits : (identity?.limits ?? null);
}
