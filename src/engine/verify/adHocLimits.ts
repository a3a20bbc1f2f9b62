import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { type Ledger, StorageUnavailable, type WindowName } from '../../storage/port/storage.ts';
import { dropFirst } from '../dropFirst.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { type AppliedLimit, ownerOf } from './appliedLimits.ts';
import { Lines } from '../admin/change/oneAtATime.ts';
import { liveAdHoc, tooManyAdHocLimits } from '../local/localWindow.ts';

const MAX = MAX_ADHOC_LIMITS_PER_OWNER;
/** Owners whose strict ones are counted at one time. */
const MAX_COUNTED = 10_000;
/** Where other nodes open strict ones too, a count is good for so long. */
const SHARED_COUNT_MS = 1_000;

interface Count {
  readonly strict: number;
  readonly atMs: number;
}

/**
 * How many ad-hoc limits there may be through one key: local and strict ones together, its own and those of its identity.
 *
 * Local ones stand in memory and are opened in the turn of the request, by the number of strict ones that is known here.
 * Strict ones are opened by the database, which is told how many others there are. Whoever opens a strict one, or counts them,
 * stands in one line with all who do so for the same key or identity. First of all it forgets the number: until it is counted
 * again, at the end of that line, no local one is opened, and so none is opened while a strict one is under way.
 */
export class AdHocLimits {
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #counts = new Map<string, Count>();
  readonly #lines = new Lines('Too many limits of one owner wait to be opened; nothing was spent.');

  constructor(localLimits: LocalLimits, ledger: Ledger) {
    this.#localLimits = localLimits;
    this.#ledger = ledger;
  }

  /** One more local one may be opened in this turn; otherwise it has to be asked for first. Refuses without asking when it can. */
  hasRoom(entry: KeyEntry, nowMs: number): boolean {
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

  /** Returns when there is room as far as is known; refuses when there is none. */
  async makeRoom(entry: KeyEntry): Promise<void> {
    await this.#lines.run(lineOf(entry), async () => {
      await this.#count(entry);
      if (this.hasRoom(entry, this.#ledger.nowMs())) return;
      await this.#closeEnded(entry);
      await this.#count(entry);
      if (!this.hasRoom(entry, this.#ledger.nowMs())) throw tooManyAdHocLimits();
    });
  }

  /**
   * The accounts of the ad-hoc ones among strict limits, which are opened if there are none; null for the others. One after the
   * other: the first that is refused is the last that is asked for.
   */
  async accounts(entry: KeyEntry, strict: readonly AppliedLimit[]): Promise<(number | null)[]> {
    const windowOf = (limit: AppliedLimit): WindowName | null =>
      limit.account === null ? { owner: ownerOf(entry, limit), name: limit.name, durationMs: limit.durationMs } : null;
    const windows = strict.map(windowOf);
    const found = await Promise.all(windows.map(async (window) => window && this.#ledger.openWindow(window, 0)));
    for (const [i, window] of windows.entries()) {
      if (window !== null) found[i] ??= await this.#lines.run(lineOf(entry), () => this.#open(entry, window));
    }
    return found;
  }

  /** The database closes what has ended of this owner; of another one it is closed when there is no room. */
  async #open(entry: KeyEntry, window: WindowName): Promise<number> {
    for (const isTidied of ownersOf(entry).length === 1 ? [false] : [false, true]) {
      if (isTidied) await this.#closeEnded(entry);
      const room = MAX - (await this.#countBeside(entry, window.owner));
      const account = room > 0 ? await this.#ledger.openWindow(window, room) : null;
      if (account !== null) return account;
    }
    throw tooManyAdHocLimits();
  }

  #strictOf(id: string, nowMs: number): number | null {
    const count = this.#counts.get(id);
    if (count === undefined) return null;
    const ageMs = nowMs - count.atMs;
    // A clock that was set back makes a count old, too.
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

  /** A node that is cut off goes on with its local limits: it opens no strict ones itself. */
  async #countStrict(id: string): Promise<number> {
    try {
      return await this.#ledger.countWindows(id, MAX);
    } catch (error) {
      if (!this.#localLimits.isShared || !(error instanceof StorageUnavailable)) throw error;
      return this.#counts.get(id)?.strict ?? 0;
    }
  }

  /** All but the strict ones of this owner, which the database counts. */
  async #countBeside(entry: KeyEntry, owner: string): Promise<number> {
    const ids = ownersOf(entry);
    for (const id of ids) await this.#localLimits.load(id, this.#ledger.nowMs());
    // From here on no local one is opened.
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

/** Only a limit of the key itself, asked for with another duration, counts for a key that has an identity. */
function ownersOf({ id, identity, limits }: KeyEntry): readonly string[] {
  if (identity === null) return [id];
  return limits === null ? [identity.id] : [id, identity.id];
}

function lineOf({ id, identity }: KeyEntry): string {
  return identity?.id ?? id;
}

function configuredOf({ id, identity, limits }: KeyEntry, owner: string): readonly AppliedLimit[] | null {
  return owner === id ? limits : (identity?.limits ?? null);
}
