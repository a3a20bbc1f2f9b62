import { MAX_ADHOC_LIMITS_PER_OWNER } from '../core/bounds.ts';
import { ageMs, type Clocks, type Instant, instantOf } from '../basics/clocks.ts';
import { type DutyRule, restMs } from '../basics/dutyCycle.ts';
import { AppError } from '../core/errors.ts';
import { fits, AHEAD_MS, windowEnd } from '../core/calendar.ts';
import type { LoadedCount, LocalCount, LocalCounts } from '../storage/port/storage.ts';
import type { Task, Turn } from '../storage/port/tasks.ts';

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

  beginPending({ window, cost }: LocalCharge): void {
    window.pending += cost;
  }

  /** The ledger has decided. A window that has ended since then has forgotten the charge. */
  endPending(charge: LocalCharge, isTaken: boolean): void {
    if (charge.window.resetAtMs !== charge.resetAtMs) return;
    // `pullBack` ends them after a clock went ahead and came back.
    charge.window.pending = Math.max(0, charge.window.pending - charge.cost);
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

  /** A window with a pending charge stays: `endPending` must find it. */
  #isOver(window: LocalWindow, nowMs: number): boolean {
    this.#endInTime(window, nowMs);
    return window.resetAtMs <= nowMs && window.pending === 0 && !window.isUnsaved;
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

/**
 * A local counter, in three parts:
 *
 *   admitted   let through by this node; saved
 *   pending       set aside while the ledger decides the other charges of a verification; becomes admitted, or is released
 *   others     let through by other nodes, as far as this node knows
 *
 * All three count against the limit. When the window rolls, they start at 0; a charge from before belongs to the window that ended.
 *
 * No window ends later than one duration from now. One that does (`endsTooLate`) was made by a clock that was ahead, and would
 * refuse until that time. It is pulled back, with its count, to the end of the window that runs now.
 */
interface LocalWindow {
  readonly owner: string;
  readonly name: string;
  readonly durationMs: number;
  /** Not known to be a configured limit of the key. Such windows are bounded in number. */
  isAdHoc: boolean;
  admitted: number;
  pending: number;
  resetAtMs: number;
  /** The window before this one, in case the clock goes back to it. */
  formerAdmitted: number;
  formerResetAtMs: number;
  others: number;
  /** Ends the window that `others` belongs to: the clock of another node may be a little ahead. */
  othersResetAtMs: number;
  /** It is in the list of windows to save. */
  isUnsaved: boolean;
}

/** One local limit of a verification that is being decided. */
export interface LocalCharge {
  readonly window: LocalWindow;
  readonly limit: number;
  readonly cost: number;
  /** The window's end when it was checked. */
  readonly resetAtMs: number;
}

/** The counters of one key, identity, or identifier of a namespace. */
export interface LocalOwner {
  readonly id: string;
  readonly windows: LocalWindow[];
  /** Nothing is counted here any more. The owner has to be looked up, or loaded, again. */
  isForgotten: boolean;
}

interface LocalLimit {
  readonly name: string;
  readonly durationMs: number;
  readonly isAdHoc: boolean;
}

type ConfiguredLimit = Omit<LocalLimit, 'isAdHoc'> & { readonly async: boolean };

/** A window without counts. */
function newWindow(owner: string, { name, durationMs, isAdHoc }: LocalLimit): LocalWindow {
  const counts = { admitted: 0, pending: 0, resetAtMs: 0, ...NO_FORMER, others: 0, othersResetAtMs: 0 };
  return { owner, name, durationMs, isAdHoc, ...counts, isUnsaved: false };
}

const NO_FORMER = { formerAdmitted: 0, formerResetAtMs: 0 };

/** Begins the window that runs now. */
function roll(window: LocalWindow, nowMs: number): void {
  window.formerAdmitted = window.admitted;
  window.formerResetAtMs = window.resetAtMs;
  window.admitted = 0;
  window.pending = 0;
  window.resetAtMs = windowEnd(nowMs, window.durationMs);
}

function endsTooLate({ resetAtMs, durationMs }: LocalWindow, nowMs: number): boolean {
  return resetAtMs - nowMs > durationMs;
}

/**
 * Gives a window that ends too late the end of the window that runs now. All counts stay: what is pending becomes admitted, because
 * it can no longer end by itself, and what was admitted before the clock went ahead is added.
 */
function pullBack(window: LocalWindow, nowMs: number): void {
  const end = windowEnd(nowMs, window.durationMs);
  window.admitted += window.pending + (window.formerResetAtMs === end ? window.formerAdmitted : 0);
  window.pending = 0;
  window.formerResetAtMs = 0;
  window.resetAtMs = end;
  if (window.othersResetAtMs - nowMs > window.durationMs + AHEAD_MS) window.othersResetAtMs = end;
}

/** What counts against the limit. */
export function used({ admitted, pending, others, othersResetAtMs, resetAtMs }: LocalWindow): number {
  return admitted + pending + (othersResetAtMs === resetAtMs ? others : 0);
}

export function findWindow(
  windows: readonly LocalWindow[],
  limit: Omit<LocalLimit, 'isAdHoc'>,
): LocalWindow | undefined {
  for (const window of windows) if (isOf(window, limit)) return window;
  return undefined;
}

function isOf(window: LocalWindow, { name, durationMs }: Omit<LocalLimit, 'isAdHoc'>): boolean {
  return window.durationMs === durationMs && window.name === name;
}

function toCount(window: LocalWindow): LocalCount {
  const { owner, name, durationMs, admitted, resetAtMs } = window;
  return { owner, name, durationMs, count: admitted, resetAtMs };
}

/**
 * Takes over the sum of other nodes, which only grows within a window. A sum of the next window is kept if that window begins
 * within a second; a sum that ends even later counts in the window that runs now. Only one sum is kept, and the running window
 * comes first. The other sum arrives again: pulls look back further than a second.
 */
function learn(window: LocalWindow, sum: LocalCount, nowMs: number): void {
  const isFar = sum.resetAtMs - nowMs > sum.durationMs + AHEAD_MS;
  const runningEnd = windowEnd(nowMs, sum.durationMs);
  const resetAtMs = isFar ? runningEnd : sum.resetAtMs;
  const isKnown = resetAtMs === window.othersResetAtMs;
  const isNewer =
    resetAtMs === runningEnd || (resetAtMs > window.othersResetAtMs && window.othersResetAtMs !== runningEnd);
  if (!isKnown && !isNewer) return;
  window.others = isKnown ? Math.max(window.others, sum.count) : sum.count;
  window.othersResetAtMs = resetAtMs;
}

/** The saved windows that run now. */
export function runningWindows(saved: readonly LoadedCount[], nowMs: number): LocalWindow[] {
  const windows: LocalWindow[] = [];
  for (const count of saved) {
    if (count.resetAtMs <= nowMs) continue;
    const loaded = fromCount(count);
    if (endsTooLate(loaded, nowMs)) pullBack(loaded, nowMs);
    const known = findWindow(windows, loaded);
    if (known === undefined) windows.push(loaded);
    else {
      // Two windows of one limit: one of them was pulled back.
      known.admitted += loaded.admitted;
      addOthers(known, loaded);
    }
  }
  return windows;
}

/** Of two different ends the one that runs now counts, in whichever order they were read. */
function addOthers(known: LocalWindow, { others, othersResetAtMs }: LocalWindow): void {
  if (othersResetAtMs === known.othersResetAtMs) known.others += others;
  else if (othersResetAtMs === known.resetAtMs) Object.assign(known, { others, othersResetAtMs });
}

function fromCount({ owner, name, durationMs, count, resetAtMs, others }: LoadedCount): LocalWindow {
  const counted = { admitted: count, pending: 0, resetAtMs, ...NO_FORMER, others, othersResetAtMs: resetAtMs };
  return { owner, name, durationMs, isAdHoc: true, ...counted, isUnsaved: false };
}

function countAdHoc(windows: readonly LocalWindow[]): number {
  return windows.reduce((count, { isAdHoc }) => count + (isAdHoc ? 1 : 0), 0);
}

/** Ad-hoc windows that run or have pending charges. A loaded window may turn out to be a configured limit. */
export function liveAdHoc(owner: LocalOwner, configured: readonly ConfiguredLimit[] | null, nowMs: number): number {
  let live = 0;
  for (const window of owner.windows) {
    if (!window.isAdHoc || (window.resetAtMs <= nowMs && window.pending === 0)) continue;
    if (configured?.some((limit) => limit.async && isOf(window, limit)) !== true) live++;
  }
  return live;
}

/** Drops ad-hoc windows that have ended. */
function dropEndedAdHoc({ windows }: LocalOwner, nowMs: number): void {
  for (let i = windows.length - 1; i >= 0; i--) {
    const window = windows[i];
    if (window?.isAdHoc !== true || window.resetAtMs > nowMs || window.pending > 0) continue;
    windows.splice(i, 1);
    // An ended window must not be saved: a new one of the same name may be saved soon.
    window.isUnsaved = false;
  }
}

export function tooManyLocalCounters(): AppError {
  return new AppError(
    'UNAVAILABLE',
    'This node has reached its limit of local counters (KEYSTILE_MAX_LOCAL_COUNTERS). Try again later.',
  );
}

export function tooManyAdHocLimits(): AppError {
  return new AppError(
    'BAD_REQUEST',
    `There are ${MAX_ADHOC_LIMITS_PER_OWNER} live ad-hoc limits already, which is the maximum; wait until some expire.`,
  );
}
