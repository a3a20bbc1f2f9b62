import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { AHEAD_MS, windowEnd } from '../../core/window.ts';
import type { LocalCount, LoadedCount } from '../../storage/port/storage.ts';

/**
 * A local counter. `admitted` is what was let through and is saved; `held` is what a verification has set aside while
 * the ledger decides its other legs: it counts against the limit, and becomes admitted or is released; `others` is what
 * other nodes are known to have let through. When the window rolls, all start at 0, and a hold that was made before
 * belongs to the window that ended.
 *
 * No window ends later than one duration from now. One that does was made by a clock that was ahead (`endsTooLate`), and would
 * refuse until that clock's time has come: it is pulled back to the end of the window that runs now, with its count.
 */
export interface LocalWindow {
  readonly owner: string;
  readonly name: string;
  readonly durationMs: number;
  /** Not known to be one of the key's configured limits: these are bounded. */
  isAdHoc: boolean;
  admitted: number;
  held: number;
  resetAtMs: number;
  /** The window before this one, for a clock that goes back to it. */
  formerAdmitted: number;
  formerResetAtMs: number;
  others: number;
  /** The window that `others` is about: a clock of another node may be a little ahead. */
  othersResetAtMs: number;
  /** Stands in the list of what is to be saved. */
  isUnsaved: boolean;
}

/** One local limit of a verification that is being decided. */
export interface LocalLeg {
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
  /** Nothing is counted here any more: it has to be looked up, or loaded, anew. */
  isForgotten: boolean;
}

export interface LocalLimit {
  readonly name: string;
  readonly durationMs: number;
  readonly isAdHoc: boolean;
}

type ConfiguredLimit = Omit<LocalLimit, 'isAdHoc'> & { readonly async: boolean };

/** One in which nothing was counted yet. */
export function newWindow(owner: string, { name, durationMs, isAdHoc }: LocalLimit): LocalWindow {
  const counts = { admitted: 0, held: 0, resetAtMs: 0, ...NO_FORMER, others: 0, othersResetAtMs: 0 };
  return { owner, name, durationMs, isAdHoc, ...counts, isUnsaved: false };
}

const NO_FORMER = { formerAdmitted: 0, formerResetAtMs: 0 };

/** Begins the window that runs now. */
export function roll(window: LocalWindow, nowMs: number): void {
  window.formerAdmitted = window.admitted;
  window.formerResetAtMs = window.resetAtMs;
  window.admitted = 0;
  window.held = 0;
  window.resetAtMs = windowEnd(nowMs, window.durationMs);
}

export function endsTooLate({ resetAtMs, durationMs }: LocalWindow, nowMs: number): boolean {
  return resetAtMs - nowMs > durationMs;
}

/**
 * Ends a window that ends too late with the one that runs now. Everything that was counted stays counted: what is held counts as
 * admitted, because its hold cannot be settled any more, and what was admitted before the clock went ahead is added.
 */
export function pullBack(window: LocalWindow, nowMs: number): void {
  const end = windowEnd(nowMs, window.durationMs);
  window.admitted += window.held + (window.formerResetAtMs === end ? window.formerAdmitted : 0);
  window.held = 0;
  window.formerResetAtMs = 0;
  window.resetAtMs = end;
  if (window.othersResetAtMs - nowMs > window.durationMs + AHEAD_MS) window.othersResetAtMs = end;
}

/** What counts against the limit. */
export function used({ admitted, held, others, othersResetAtMs, resetAtMs }: LocalWindow): number {
  return admitted + held + (othersResetAtMs === resetAtMs ? others : 0);
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

export function toCount(window: LocalWindow): LocalCount {
  const { owner, name, durationMs, admitted, resetAtMs } = window;
  return { owner, name, durationMs, count: admitted, resetAtMs };
}

/**
 * What other nodes have counted only grows within a window. A sum of the next window waits for that if it begins within a second; a sum that
 * ends even later counts in the window that runs now. Only one sum is known: that of the window that runs now comes first. The other
 * one is told again, because pulls look back further than a second.
 */
export function learn(window: LocalWindow, sum: LocalCount, nowMs: number): void {
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

/** The windows that run now, of what was saved. */
export function runningWindows(saved: readonly LoadedCount[], nowMs: number): LocalWindow[] {
  const windows: LocalWindow[] = [];
  for (const count of saved) {
    if (count.resetAtMs <= nowMs) continue;
    const loaded = fromCount(count);
    if (endsTooLate(loaded, nowMs)) pullBack(loaded, nowMs);
    const known = findWindow(windows, loaded);
    if (known === undefined) windows.push(loaded);
    else {
      // One of them was pulled back.
      known.admitted += loaded.admitted;
      addOthers(known, loaded);
    }
  }
  return windows;
}

/** Of two ends the one that runs now counts, in whichever order they were read. */
function addOthers(known: LocalWindow, { others, othersResetAtMs }: LocalWindow): void {
  if (othersResetAtMs === known.othersResetAtMs) known.others += others;
  else if (othersResetAtMs === known.resetAtMs) Object.assign(known, { others, othersResetAtMs });
}

function fromCount({ owner, name, durationMs, count, resetAtMs, others }: LoadedCount): LocalWindow {
  const counted = { admitted: count, held: 0, resetAtMs, ...NO_FORMER, others, othersResetAtMs: resetAtMs };
  return { owner, name, durationMs, isAdHoc: true, ...counted, isUnsaved: false };
}

export function countAdHoc(windows: readonly LocalWindow[]): number {
  return windows.reduce((count, { isAdHoc }) => count + (isAdHoc ? 1 : 0), 0);
}

/** Those that run, or are held; what was loaded may be one of the configured limits. */
export function liveAdHoc(owner: LocalOwner, configured: readonly ConfiguredLimit[] | null, nowMs: number): number {
  let live = 0;
  for (const window of owner.windows) {
    if (!window.isAdHoc || (window.resetAtMs <= nowMs && window.held === 0)) continue;
    if (configured?.some((limit) => limit.async && isOf(window, limit)) !== true) live++;
  }
  return live;
}

/** Lets go of ad-hoc windows that have ended. */
export function dropEndedAdHoc({ windows }: LocalOwner, nowMs: number): void {
  for (let i = windows.length - 1; i >= 0; i--) {
    const window = windows[i];
    if (window?.isAdHoc !== true || window.resetAtMs > nowMs || window.held > 0) continue;
    windows.splice(i, 1);
    // What has ended need not be saved; under the same name another one may be saved soon.
    window.isUnsaved = false;
  }
}

export function tooManyAdHocLimits(): AppError {
  return new AppError(
    'BAD_REQUEST',
    `There are ${MAX_ADHOC_LIMITS_PER_OWNER} live ad-hoc limits already; wait until some have ended.`,
  );
}
