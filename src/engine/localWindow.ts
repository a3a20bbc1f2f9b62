import { MAX_ADHOC_LIMITS_PER_OWNER } from '../core/bounds.ts';
import { AppError } from '../core/errors.ts';
import type { EdgeCount, LoadedCount } from '../storage/port.ts';

/**
 * A local counter. `admitted` is what was let through and is saved; `held` is what a verification has set aside while
 * the ledger decides its other legs: it counts against the limit, and becomes admitted or is released; `others` is what
 * other nodes are known to have let through. When the window rolls, all start at 0, and a hold that was made before
 * belongs to the window that ended.
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
  /** The one of them that was used last, mostly the only one: found without a look into the list. */
  last: LocalWindow | null;
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
  const counts = { admitted: 0, held: 0, resetAtMs: 0, others: 0, othersResetAtMs: 0 };
  return { owner, name, durationMs, isAdHoc, ...counts, isUnsaved: false };
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

export function isOf(window: LocalWindow, { name, durationMs }: Omit<LocalLimit, 'isAdHoc'>): boolean {
  return window.durationMs === durationMs && window.name === name;
}

export function toCount(window: LocalWindow): EdgeCount {
  const { owner, name, durationMs, admitted, resetAtMs } = window;
  return { owner, name, durationMs, count: admitted, resetAtMs };
}

export function fromCount({ owner, name, durationMs, count, resetAtMs, others }: LoadedCount): LocalWindow {
  const counted = { admitted: count, held: 0, resetAtMs, others, othersResetAtMs: resetAtMs };
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

export function tooManyAdHocLimits(): AppError {
  return new AppError(
    'BAD_REQUEST',
    `There are ${MAX_ADHOC_LIMITS_PER_OWNER} live ad-hoc limits already; wait until some have ended.`,
  );
}
