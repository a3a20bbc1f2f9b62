import { MAX_ADHOC_LIMITS_PER_OWNER } from '../core/bounds.ts';
import { AppError } from '../core/errors.ts';
import { fits, windowEnd } from '../core/window.ts';
import type { EdgeCount, EdgeCounts, LoadedCount } from '../storage/port.ts';
import {
  countAdHoc,
  findWindow,
  fromCount,
  isOf,
  type LocalLeg,
  type LocalLimit,
  type LocalOwner,
  type LocalWindow,
  newWindow,
  toCount,
  tooManyAdHocLimits,
  used,
} from './localWindow.ts';
import { OwnerGroups } from './ownerGroups.ts';

/** Counts that are handed over at the most at one time. */
const SYNC_SLICE = 1000;
/** Owners that are looked at when there is no room for a new one. */
const FORGET_STEP = 1000;

/** All local counters of this node. Nothing here waits, but the first touch of an owner. */
export class Edge {
  readonly #counts: EdgeCounts;
  readonly #maxOwners: number;
  readonly #owners = new Map<string, LocalOwner>();
  readonly #groups: OwnerGroups;
  readonly #loading = new Map<string, Promise<void>>();
  #unsaved: LocalWindow[] = [];
  #awaitingUnsaved: PromiseWithResolvers<void> | null = null;
  #forgetting = this.#owners.entries();

  /** All groups together have at most half of all, and each at most half of that, and at most `maxPerGroup`. */
  constructor(counts: EdgeCounts, maxOwners: number, maxPerGroup = maxOwners) {
    this.#counts = counts;
    this.#maxOwners = maxOwners;
    this.#groups = new OwnerGroups(maxPerGroup, Math.max(1, Math.floor(maxOwners / 2)));
    counts.onForgotten(() => this.#markAll());
  }

  get unsavedSize(): number {
    return this.#unsaved.length;
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

  /** The running window of a limit. */
  window(owner: LocalOwner, limit: LocalLimit, nowMs: number): LocalWindow {
    const { durationMs, isAdHoc } = limit;
    let window = owner.last;
    if (window === null || !isOf(window, limit)) {
      window = findWindow(owner.windows, limit) ?? this.#open(owner, limit, nowMs);
      owner.last = window;
    }
    if (!isAdHoc) window.isAdHoc = false;
    if (nowMs >= window.resetAtMs) {
      window.admitted = 0;
      window.held = 0;
      window.resetAtMs = windowEnd(nowMs, durationMs);
    }
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
    this.#mark(window);
  }

  hold({ window, cost }: LocalLeg): void {
    window.held += cost;
  }

  /** Ends a hold. When its window has ended meanwhile, there is nothing left to give back or to count. */
  settle(leg: LocalLeg, isTaken: boolean): void {
    if (leg.window.resetAtMs !== leg.resetAtMs) return;
    leg.window.held -= leg.cost;
    if (isTaken) this.admit(leg);
  }

  /** Returns when there is a count to be saved. */
  untilUnsaved(): Promise<void> {
    if (this.#unsaved.length > 0) return Promise.resolve();
    return (this.#awaitingUnsaved ??= Promise.withResolvers()).promise;
  }

  /** As long as there is nobody to tell, only looks whether that is still so. Answers whether all is written. */
  async syncIfHeard(): Promise<boolean> {
    if (this.#counts.isShared) this.#learn(await this.#counts.sync([], true));
    if (this.#counts.isAlone) return false;
    await this.sync();
    return true;
  }

  /** Writes the counts that changed since the last time, and takes over what other nodes have counted. */
  async sync(): Promise<void> {
    const changed = this.#unsaved;
    this.#unsaved = [];
    let next = 0;
    do {
      const slice = changed.slice(next, next + SYNC_SLICE).filter(({ isUnsaved }) => isUnsaved);
      next += SYNC_SLICE;
      for (const window of slice) window.isUnsaved = false;
      try {
        this.#learn(await this.#counts.sync(slice.map(toCount), next >= changed.length));
      } catch (error) {
        for (const window of slice) this.#mark(window);
        this.#unsaved = this.#unsaved.concat(changed.slice(next));
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
      const windows = saved.filter(({ resetAtMs }) => resetAtMs > nowMs).map(fromCount);
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

  /** Sums of other nodes only grow within a window. Owners that are not counted here are read when they are first seen. */
  #learn(sums: readonly EdgeCount[]): void {
    for (const sum of sums) {
      const window = findWindow(this.#owners.get(sum.owner)?.windows ?? [], sum);
      if (window === undefined || sum.resetAtMs < window.othersResetAtMs) continue;
      window.others = sum.resetAtMs === window.othersResetAtMs ? Math.max(window.others, sum.count) : sum.count;
      window.othersResetAtMs = sum.resetAtMs;
    }
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
      for (const window of windows) if (window.admitted > 0) this.#mark(window);
  }

  #mark(window: LocalWindow): void {
    if (window.isUnsaved) return;
    window.isUnsaved = true;
    this.#unsaved.push(window);
    this.#awaitingUnsaved?.resolve();
    this.#awaitingUnsaved = null;
  }

  /** Lets go of ad-hoc windows that have ended; refuses one more when there are too many that have not. */
  #makeRoom(owned: LocalOwner, nowMs: number): void {
    const { windows } = owned;
    if (countAdHoc(windows) < MAX_ADHOC_LIMITS_PER_OWNER) return;
    for (let i = windows.length - 1; i >= 0; i--) {
      const window = windows[i];
      if (window?.isAdHoc !== true || window.resetAtMs > nowMs || window.held > 0) continue;
      windows.splice(i, 1);
      if (owned.last === window) owned.last = null;
      // What has ended need not be saved; under the same name another one may be saved soon.
      window.isUnsaved = false;
    }
    if (countAdHoc(windows) >= MAX_ADHOC_LIMITS_PER_OWNER) throw tooManyAdHocLimits();
  }
}
