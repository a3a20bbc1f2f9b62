import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { AHEAD_MS, windowEnd } from '../../core/calendar.ts';
import type { LocalCount, LoadedCount } from '../../storage/port/storage.ts';

/**
 * A local counter, in three parts:
 *
 *   admitted   let through by this node; saved
 *   held       set aside while the ledger decides the other charges of a verification; becomes admitted, or is released
 *   others     let through by other nodes, as far as this node knows
 *
 * All three count against the limit. When the window rolls, they start at 0; a hold from before belongs to the window that ended.
 *
 * No window ends later than one duration from now. One that does (`endsTooLate`) was made by a clock that was ahead, and would
 * refuse until that time. It is pulled back, with its count, to the end of the window that runs now.
 */
export interface LocalWindow {
  readonly owner: string;
  readonly name: string;
  readonly durationMs: number;
  /** Not known to be a configured limit of the key. Such windows are bounded in number. */
  isAdHoc: boolean;
  admitted: number;
  held: number;
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

export interface LocalLimit {
  readonly name: string;
  readonly durationMs: number;
  readonly isAdHoc: boolean;
}

type ConfiguredLimit = Omit<LocalLimit, 'isAdHoc'> & { readonly async: boolean };

/** A window without counts. */
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
 * Gives a window that ends too late the end of the window that runs now. All counts stay: what is held becomes admitted, because
 * its hold can no longer end, and what was admitted before the clock went ahead is added.
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
 * Takes over the sum of other nodes, which only grows within a window. A sum of the next window is kept if that window begins
 * within a second; a sum that ends even later counts in the window that runs now. Only one sum is kept, and the running window
 * comes first. The other sum arrives again: pulls look back further than a second.
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
  const counted = { admitted: count, held: 0, resetAtMs, ...NO_FORMER, others, othersResetAtMs: resetAtMs };
  return { owner, name, durationMs, isAdHoc: true, ...counted, isUnsaved: false };
}

export function countAdHoc(windows: readonly LocalWindow[]): number {
  return windows.reduce((count, { isAdHoc }) => count + (isAdHoc ? 1 : 0), 0);
}

/** Ad-hoc windows that run or have holds. A loaded window may turn out to be a configured limit. */
export function liveAdHoc(owner: LocalOwner, configured: readonly ConfiguredLimit[] | null, nowMs: number): number {
  let live = 0;
  for (const window of owner.windows) {
    if (!window.isAdHoc || (window.resetAtMs <= nowMs && window.held === 0)) continue;
    if (configured?.some((limit) => limit.async && isOf(window, limit)) !== true) live++;
  }
  return live;
}

/** Drops ad-hoc windows that have ended. */
export function dropEndedAdHoc({ windows }: LocalOwner, nowMs: number): void {
  for (let i = windows.length - 1; i >= 0; i--) {
    const window = windows[i];
    if (window?.isAdHoc !== true || window.resetAtMs > nowMs || window.held > 0) continue;
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
