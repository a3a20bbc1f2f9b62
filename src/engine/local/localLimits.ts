import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { ageMs, type Clocks, type Instant, instantOf } from '../../basics/clocks.ts';
import { type DutyRule, restMs } from '../../basics/dutyCycle.ts';
import { AppError } from '../../core/errors.ts';
import { fits } from '../../core/calendar.ts';
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
import type { LoadedCount, LocalCount, LocalCounts } from '../../storage/port/storage.ts';
import type { Task, Turn } from '../../storage/port/tasks.ts';

/** Counts that one call of storage takes at the most. */
const SYNC_SLICE = 1000;
/** Owners that are checked when no further one fits. */
const FORGET_STEP = 1000;

interface LocalLimitsOptions {
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

/**
 * Groups of owners: the identifiers of a namespace form a group. Their ids begin with the id of the group and a colon; other owners
 * have no colon, and no group. All groups together cannot use up the counters of the node, and one group cannot use up the
 * share of all groups.
 */
class OwnerGroups {
  readonly #max: number;
  readonly #maxTogether: number;
  readonly #sizes = new Map<string, number>();
  #crowded = 0;
  #together = 0;

  constructor(max: number, maxTogether: number) {
    this.#max = Math.min(max, Math.max(1, Math.floor(maxTogether / 2)));
    this.#maxTogether = maxTogether;
  }

  /** A group, or all groups together, are more than half full: ended owners should be forgotten. */
  get isCrowded(): boolean {
    return this.#crowded > 0 || this.#together * 2 > this.#maxTogether;
  }

  takesOneMore(owner: string): boolean {
    const group = groupOf(owner);
    return group === null || (this.#together < this.#maxTogether && this.#sizeOf(group) < this.#max);
  }

  /** Throws when its group is full, or all groups together are. */
  add(owner: string): void {
    const group = groupOf(owner);
    if (group !== null && this.#sizeOf(group) >= this.#max) throw tooMany();
    if (group !== null && this.#together >= this.#maxTogether) throw tooManyTogether();
    this.#change(owner, 1);
  }

  remove(owner: string): void {
    this.#change(owner, -1);
  }

  #sizeOf(group: string): number {
    return this.#sizes.get(group) ?? 0;
  }

  #change(owner: string, by: 1 | -1): void {
    const group = groupOf(owner);
    if (group === null) return;
    const before = this.#sizeOf(group);
    this.#together += by;
    const size = before + by;
    if (size === 0) this.#sizes.delete(group);
    else this.#sizes.set(group, size);
    this.#crowded += Number(size * 2 > this.#max) - Number(before * 2 > this.#max);
  }
}

function groupOf(owner: string): string | null {
  const end = owner.indexOf(':');
  return end < 0 ? null : owner.slice(0, end);
}

function tooMany(): AppError {
  const bounds = 'KEYSTILE_MAX_LIMITS_PER_NAMESPACE, or a quarter of KEYSTILE_MAX_LOCAL_COUNTERS';
  return new AppError(
    'UNAVAILABLE',
    `This namespace has reached its limit of local counters on this node (${bounds}).`,
  );
}

function tooManyTogether(): AppError {
  const who = 'All namespaces together have reached their limit of local counters on this node';
  return new AppError('UNAVAILABLE', `${who} (half of KEYSTILE_MAX_LOCAL_COUNTERS).`);
}

/** Windows that have counted since they were last saved. Each is here once (`isUnsaved`). */
class UnsavedWindows {
  #windows: LocalWindow[] = [];
  #awaited: PromiseWithResolvers<void> | null = null;

  get size(): number {
    return this.#windows.length;
  }

  add(window: LocalWindow): void {
    if (window.isUnsaved) return;
    window.isUnsaved = true;
    this.#windows.push(window);
    this.#awaited?.resolve();
    this.#awaited = null;
  }

  /** Returns when there is one. */
  untilSome(): Promise<void> {
    if (this.#windows.length > 0) return Promise.resolve();
    return (this.#awaited ??= Promise.withResolvers()).promise;
  }

  /** All of them, still marked. Whoever saves one removes its mark. */
  takeAll(): LocalWindow[] {
    const windows = this.#windows;
    this.#windows = [];
    return windows;
  }

  /** Windows that were taken, and not tried. */
  putBack(windows: readonly LocalWindow[]): void {
    this.#windows = this.#windows.concat(windows);
  }
}

/** With the embedded database, saving takes at most a twentieth of the time. Very many counters stretch the interval. */
const SAVE: DutyRule = { rest: 20, minRest: 1, cycleMs: 20_000 };
/** After a failed save all counts are saved again. */
const FAILED_SAVE_REST_MS = 5_000;
/** Owners of local counters that one run looks at, whether they can be forgotten. */
const ENDED_STEP = 200;

interface SavingContext extends Clocks {
  readonly localLimits: Pick<LocalLimits, 'tidy' | 'unsavedSize' | 'untilUnsaved' | 'sync'>;
  readonly localCounts: Pick<LocalCounts, 'isShared'>;
  readonly nowMs: () => number;
  readonly everyMs: number;
}

/** The task that saves local counts and exchanges them with other nodes. */
export class LocalCountSaving implements Task {
  readonly name = 'saving local counts';
  readonly everyMs: number;
  readonly #context: SavingContext;
  #nextSaveAtMs = 0;
  #savedAt: Instant | null = null;

  constructor(context: SavingContext) {
    this.everyMs = context.everyMs;
    this.#context = context;
  }

  /** How long ago local counts were last saved; null = never. */
  get lagMs(): number | null {
    return this.#savedAt === null ? null : Math.round(ageMs(this.#savedAt, this.#context));
  }

  /** On a shared database every run saves. With the embedded one a run waits for a count to save, so that an idle process is not woken. */
  async run(turn: Turn): Promise<void> {
    const { localLimits, localCounts, nowMs } = this.#context;
    localLimits.tidy(nowMs(), ENDED_STEP);
    if (localCounts.isShared) return this.#save();
    if (localLimits.unsavedSize > 0 && !this.#isResting) await this.#save();
    await turn.until(localLimits.untilUnsaved());
  }

  get #isResting(): boolean {
    return this.#context.monotonicMs() < this.#nextSaveAtMs;
  }

  async #save(): Promise<void> {
    const { localLimits, monotonicMs, localCounts } = this.#context;
    const startedAt = instantOf(this.#context);
    try {
      await localLimits.sync();
    } catch (error) {
      if (!localCounts.isShared) this.#nextSaveAtMs = monotonicMs() + FAILED_SAVE_REST_MS;
      throw error;
    }
    this.#savedAt = startedAt;
    const tookMs = monotonicMs() - startedAt.monotonicMs;
    if (!localCounts.isShared) this.#nextSaveAtMs = monotonicMs() + restMs(SAVE, { tookMs, sinceMs: tookMs });
  }
}
