import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { fits } from '../../core/window.ts';
import type { LocalCount, LocalCounts, LoadedCount } from '../../storage/port/storage.ts';
import {
  countAdHoc,
  dropEndedAdHoc,
  endsTooLate,
  findWindow,
  isOf,
  learn,
  type LocalLeg,
  type LocalLimit,
  type LocalOwner,
  type LocalWindow,
  newWindow,
  pullBack,
  roll,
  runningWindows,
  toCount,
  tooManyAdHocLimits,
  used,
} from './localWindow.ts';
import { OwnerGroups } from './ownerGroups.ts';
import { UnsavedWindows } from './unsavedWindows.ts';

/** Counts that are handed over at the most at one time. */
const SYNC_SLICE = 1000;
/** Owners that are looked at when there is no room for a new one. */
const FORGET_STEP = 1000;

export interface LocalLimitsOptions {
  readonly nowMs: () => number;
  readonly maxOwners: number;
  /** All groups together have at most half of all owners, and each at most half of that, and at most this. */
  readonly maxPerGroup?: number;
}

/** All local counters of this node. Nothing here waits, but the first touch of an owner. */
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

  /** undefined when it has to be loaded first. */
  owner(id: string): LocalOwner | undefined {
    return this.#owners.get(id);
  }

  /** Reads what was saved for this owner; shared by all who wait for it. */
  async load(owner: string, nowMs: number): Promise<void> {
    if (this.#owners.has(owner)) return;
    let loading = this.#loading.get(owner);
    if (loading === undefined) {
      loading = this.#load(owner, nowMs).finally(() => this.#loading.delete(owner));
      this.#loading.set(owner, loading);
    }
    return loading;
  }

  /** The running window of a limit. `endsTooLate` is written out: each verification comes by here. */
  window(owner: LocalOwner, limit: LocalLimit, nowMs: number): LocalWindow {
    let window = owner.last;
    if (window === null || !isOf(window, limit)) {
      window = findWindow(owner.windows, limit) ?? this.#open(owner, limit, nowMs);
      owner.last = window;
    }
    if (!limit.isAdHoc) window.isAdHoc = false;
    if (nowMs >= window.resetAtMs) roll(window, nowMs);
    else if (window.resetAtMs - nowMs > window.durationMs) this.#endInTime(window, nowMs);
    return window;
  }

  allows({ window, limit, cost }: LocalLeg): boolean {
    return fits(used(window), cost, limit);
  }

  left({ window, limit }: LocalLeg): number {
    return Math.max(0, limit - used(window));
  }

  admit({ window, cost }: LocalLeg): void {
    if (cost === 0) return;
    window.admitted += cost;
    this.#unsaved.add(window);
  }

  hold({ window, cost }: LocalLeg): void {
    window.held += cost;
  }

  /** Ends a hold. When its window has ended meanwhile, there is nothing left to give back or to count. */
  settle(leg: LocalLeg, isTaken: boolean): void {
    if (leg.window.resetAtMs !== leg.resetAtMs) return;
    // A clock that went ahead and came back has ended the hold.
    leg.window.held = Math.max(0, leg.window.held - leg.cost);
    if (isTaken) this.admit(leg);
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

  /** As long as there is room, owners are kept: to read one again would be I/O in a request. */
  tidy(nowMs: number, count: number): void {
    if (this.#owners.size * 2 > this.#maxOwners || this.#groups.isCrowded) this.forgetEnded(nowMs, count);
  }

  /**
   * Forgets owners all of whose windows have ended: what is left of them is nothing. Looks at `count` owners, going on
   * where it stopped the last time, so that a million of them are never walked through in one turn.
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
      // Keys may remember it for as long as they are not used.
      owner.windows.length = 0;
      owner.last = null;
      this.#owners.delete(id);
      this.#groups.remove(id);
    }
  }

  /** A window with a hold stays: what becomes of the hold must find it. */
  #isOver(window: LocalWindow, nowMs: number): boolean {
    this.#endInTime(window, nowMs);
    return window.resetAtMs <= nowMs && window.held === 0 && !window.isUnsaved;
  }

  #isFull(): boolean {
    return this.#owners.size + this.#loading.size >= this.#maxOwners;
  }

  async #load(owner: string, nowMs: number): Promise<void> {
    if (this.#isFull() || !this.#groups.hasRoomFor(owner)) this.forgetEnded(nowMs, FORGET_STEP);
    if (this.#isFull()) throw new AppError('UNAVAILABLE', 'This node counts as many local limits as it may.');
    this.#groups.add(owner);
    try {
      const saved = await this.#read(owner);
      // Read anew: a window may have ended, and the next one been saved, while this was waited for.
      const windows = runningWindows(saved, this.#nowMs());
      this.#owners.set(owner, { id: owner, windows, last: null, isForgotten: false });
    } finally {
      if (!this.#owners.has(owner)) this.#groups.remove(owner);
    }
  }

  #open(owner: LocalOwner, limit: LocalLimit, nowMs: number): LocalWindow {
    if (limit.isAdHoc) this.#makeRoom(owner, nowMs);
    const window = newWindow(owner.id, limit);
    owner.windows.push(window);
    return window;
  }

  /** Owners that are not counted here are read when they are first seen. */
  #learn(sums: readonly LocalCount[]): void {
    const nowMs = this.#nowMs();
    for (const sum of sums) {
      const window = findWindow(this.#owners.get(sum.owner)?.windows ?? [], sum);
      if (window === undefined) continue;
      this.#endInTime(window, nowMs);
      learn(window, sum, nowMs);
    }
  }

  /** What was saved of a window that ends too late does so as well: it is saved again. */
  #endInTime(window: LocalWindow, nowMs: number): void {
    if (!endsTooLate(window, nowMs)) return;
    pullBack(window, nowMs);
    if (window.admitted > 0) this.#unsaved.add(window);
  }

  /** What others have counted is worth knowing, and not worth refusing for: this node admits at most the limit by itself. */
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

  /** Lets go of ad-hoc windows that have ended; refuses one more when there are too many that have not. */
  #makeRoom(owned: LocalOwner, nowMs: number): void {
    if (countAdHoc(owned.windows) < MAX_ADHOC_LIMITS_PER_OWNER) return;
    for (const window of owned.windows) this.#endInTime(window, nowMs);
    dropEndedAdHoc(owned, nowMs);
    if (countAdHoc(owned.windows) >= MAX_ADHOC_LIMITS_PER_OWNER) throw tooManyAdHocLimits();
  }
}
