import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { fits } from '../../core/window.ts';
import type { LocalCount, LocalCounts, LoadedCount } from '../../storage/port/storage.ts';
import {
  countAdHoc,
  dropEndedAdHoc,
  endsTooLate,
  findWindow,
  learn,
  type LocalCharge,
  type LocalLimit,
  type LocalOwner,
  type LocalWindow,
  newWindow,
  pullBack,
  roll,
  runningWindows,
  toCount,
  tooManyAdHocLimits,
  tooManyLocalCounters,
  used,
} from './localWindow.ts';
import { OwnerGroups } from './ownerGroups.ts';
import { UnsavedWindows } from './unsavedWindows.ts';

/** Counts that one call of storage takes at the most. */
const SYNC_SLICE = 1000;
/** Owners that are checked when no further one fits. */
const FORGET_STEP = 1000;

export interface LocalLimitsOptions {
  readonly nowMs: () => number;
  readonly maxOwners: number;
  /** Owners of one group. All groups together have at most half of all owners, and each group at most half of that. */
  readonly maxPerGroup?: number;
}

/** All local counters of this node. Only the first use of an owner waits: its saved counts are loaded. */
export class LocalLimits {
  readonly #counts: LocalCounts;
  readonly #nowMs: () => number;
  readonly #maxOwners: number;
  readonly #owners = new Map<string, LocalOwner>();
  readonly #groups: OwnerGroups;
  readonly #loading = new Map<string, Promise<void>>();
  readonly #unsaved = new UnsavedWindows();
  #forgetting = this.#owners.entries();

  constructor(counts: LocalCounts, { nowMs, maxOwners, maxPerGroup = maxOwners }: LocalLimitsOptions) {
    this.#counts = counts;
    this.#nowMs = nowMs;
    this.#maxOwners = maxOwners;
    this.#groups = new OwnerGroups(maxPerGroup, Math.max(1, Math.floor(maxOwners / 2)));
    counts.onForgotten(() => this.#markAll());
  }

  get unsavedSize(): number {
    return this.#unsaved.size;
  }

  /** Other nodes may count on the same database. */
  get isShared(): boolean {
    return this.#counts.isShared;
  }

  /** undefined: it has to be loaded first. */
  owner(id: string): LocalOwner | undefined {
    return this.#owners.get(id);
  }

  /** Reads what was saved for this owner, once for all who wait for it. */
  async load(owner: string, nowMs: number): Promise<void> {
    if (this.#owners.has(owner)) return;
    let loading = this.#loading.get(owner);
    if (loading === undefined) {
      loading = this.#load(owner, nowMs).finally(() => this.#loading.delete(owner));
      this.#loading.set(owner, loading);
    }
    return loading;
  }

  /** The running window of a limit. `endsTooLate` is written out because every verification with a local limit calls this. */
  window(owner: LocalOwner, limit: LocalLimit, nowMs: number): LocalWindow {
    const window = findWindow(owner.windows, limit) ?? this.#open(owner, limit, nowMs);
    if (!limit.isAdHoc) window.isAdHoc = false;
    if (nowMs >= window.resetAtMs) roll(window, nowMs);
    else if (window.resetAtMs - nowMs > window.durationMs) this.#endInTime(window, nowMs);
    return window;
  }

  allows({ window, limit, cost }: LocalCharge): boolean {
    return fits(used(window), cost, limit);
  }

  left({ window, limit }: LocalCharge): number {
    return Math.max(0, limit - used(window));
  }

  admit({ window, cost }: LocalCharge): void {
    if (cost === 0) return;
    window.admitted += cost;
    this.#unsaved.add(window);
  }

  hold({ window, cost }: LocalCharge): void {
    window.held += cost;
  }

  /** Ends a hold. A window that has ended meanwhile has forgotten the hold. */
  endHold(charge: LocalCharge, isTaken: boolean): void {
    if (charge.window.resetAtMs !== charge.resetAtMs) return;
    // `pullBack` ends holds after a clock went ahead and came back.
    charge.window.held = Math.max(0, charge.window.held - charge.cost);
    if (isTaken) this.admit(charge);
  }

  /** Returns when there is a count to be saved. */
  untilUnsaved(): Promise<void> {
    return this.#unsaved.untilSome();
  }

  /** Writes the counts that changed since the last time, and takes over what other nodes have counted. */
  async sync(): Promise<void> {
    const changed = this.#unsaved.takeAll();
    let next = 0;
    do {
      const slice = changed.slice(next, next + SYNC_SLICE).filter(({ isUnsaved }) => isUnsaved);
      next += SYNC_SLICE;
      const nowMs = this.#nowMs();
      for (const window of slice) {
        this.#endInTime(window, nowMs);
        window.isUnsaved = false;
      }
      try {
        this.#learn(await this.#counts.sync(slice.map(toCount), next >= changed.length));
      } catch (error) {
        for (const window of slice) this.#unsaved.add(window);
        this.#unsaved.putBack(changed.slice(next));
        throw error;
      }
    } while (next < changed.length);
  }

  /** Keeps owners up to the limit: reading one again is I/O in a request. */
  tidy(nowMs: number, count: number): void {
    if (this.#owners.size * 2 > this.#maxOwners || this.#groups.isCrowded) this.forgetEnded(nowMs, count);
  }

  /**
   * Forgets owners whose windows have all ended: nothing is left of them. Checks `count` owners and goes on from there the next
   * time, so that one turn never walks through a million owners.
   */
  forgetEnded(nowMs: number, count: number): void {
    for (let i = 0; i < count; i++) {
      let next = this.#forgetting.next();
      if (next.done === true) {
        next = (this.#forgetting = this.#owners.entries()).next();
        if (next.done === true) return;
      }
      const [id, owner] = next.value;
      if (!owner.windows.every((window) => this.#isOver(window, nowMs))) continue;
      owner.isForgotten = true;
      // A key that is not used may hold on to the owner.
      owner.windows.length = 0;
      this.#owners.delete(id);
      this.#groups.remove(id);
    }
  }

  /** A window with a hold stays: `endHold` must find it. */
  #isOver(window: LocalWindow, nowMs: number): boolean {
    this.#endInTime(window, nowMs);
    return window.resetAtMs <= nowMs && window.held === 0 && !window.isUnsaved;
  }

  #isFull(): boolean {
    return this.#owners.size + this.#loading.size >= this.#maxOwners;
  }

  async #load(owner: string, nowMs: number): Promise<void> {
    if (this.#isFull() || !this.#groups.takesOneMore(owner)) this.forgetEnded(nowMs, FORGET_STEP);
    if (this.#isFull()) throw tooManyLocalCounters();
    this.#groups.add(owner);
    try {
      const saved = await this.#read(owner);
      // The clock is read again: a window may have ended, and the next one been saved, during the read.
      const windows = runningWindows(saved, this.#nowMs());
      this.#owners.set(owner, { id: owner, windows, isForgotten: false });
    } finally {
      if (!this.#owners.has(owner)) this.#groups.remove(owner);
    }
  }

  #open(owner: LocalOwner, limit: LocalLimit, nowMs: number): LocalWindow {
    if (limit.isAdHoc) this.#dropEndedOrRefuse(owner, nowMs);
    const window = newWindow(owner.id, limit);
    owner.windows.push(window);
    return window;
  }

  /** Skips owners that are not counted here: they are loaded when they are first used. */
  #learn(sums: readonly LocalCount[]): void {
    const nowMs = this.#nowMs();
    for (const sum of sums) {
      const window = findWindow(this.#owners.get(sum.owner)?.windows ?? [], sum);
      if (window === undefined) continue;
      this.#endInTime(window, nowMs);
      learn(window, sum, nowMs);
    }
  }

  /** The saved count of a window that ends too late is wrong in the same way: it is saved again. */
  #endInTime(window: LocalWindow, nowMs: number): void {
    if (!endsTooLate(window, nowMs)) return;
    pullBack(window, nowMs);
    if (window.admitted > 0) this.#unsaved.add(window);
  }

  /** Where nodes share a database, a failed read refuses nothing: this node by itself admits at most the limit. */
  async #read(owner: string): Promise<readonly LoadedCount[]> {
    try {
      return await this.#counts.load(owner);
    } catch (error) {
      if (this.#counts.isShared) return [];
      throw error;
    }
  }

  #markAll(): void {
    for (const { windows } of this.#owners.values())
      for (const window of windows) if (window.admitted > 0) this.#unsaved.add(window);
  }

  /** Drops ad-hoc windows that have ended. Refuses one more when too many are left. */
  #dropEndedOrRefuse(owned: LocalOwner, nowMs: number): void {
    if (countAdHoc(owned.windows) < MAX_ADHOC_LIMITS_PER_OWNER) return;
    for (const window of owned.windows) this.#endInTime(window, nowMs);
    dropEndedAdHoc(owned, nowMs);
    if (countAdHoc(owned.windows) >= MAX_ADHOC_LIMITS_PER_OWNER) throw tooManyAdHocLimits();
  }
}
