import type { Lab } from './lab.ts';
import type { Region, Verdict } from './region.ts';
import { greatest, least, scaled, sum } from './statistics.ts';

export const STRICT_LIMIT = 100;
export const STRICT_WINDOW_MS = 1_000;
const WINDOWS = 8;
/** Clients in each region. */
const CLIENTS = 20;
/** The longest pause of a client after a refusal. */
const PAUSE_MS = 20;

interface Window {
  readonly reset: number;
  /** The number of all verdicts. */
  readonly asked: number;
  /** Admitted requests in each region. */
  readonly admitted: readonly number[];
}

export interface StrictResult {
  /** The windows that were under load from beginning to end. */
  readonly full: readonly Window[];
  readonly leastAdmitted: number;
  readonly mostAdmitted: number;
  readonly leastAsked: number;
  /** The most requests admitted in any window, including the first and the last. */
  readonly mostEver: number;
}

interface WindowCount {
  asked: number;
  readonly admitted: number[];
}

/** All regions verify one key far more often than its strict limit allows. */
export async function measureStrict(lab: Lab, scale: number): Promise<StrictResult> {
  const { key } = await lab.createKey({ async: false, limit: STRICT_LIMIT, duration: STRICT_WINDOW_MS });
  const windowCounts = new Map<number, WindowCount>();
  // One window more, because the load begins and ends in the middle of a window.
  const untilMs = performance.now() + (scaled(WINDOWS, scale, 2) + 1) * STRICT_WINDOW_MS;
  const countOf = (reset: number): WindowCount => {
    const found = windowCounts.get(reset) ?? { asked: 0, admitted: lab.regions.map(() => 0) };
    windowCounts.set(reset, found);
    return found;
  };
  const hammer = async (region: Region, number: number): Promise<void> => {
    while (performance.now() < untilMs) {
      const { outcome, limit } = await region.verify(key);
      if (limit !== null) count(countOf(limit.reset), outcome, number);
      if (outcome !== 'valid') await Bun.sleep(PAUSE_MS * Math.random());
    }
  };
  const clients = lab.regions.flatMap((region, number) =>
    Array.from({ length: CLIENTS }, () => hammer(region, number)),
  );
  await Promise.all(clients);
  return summarize(windowCounts);
}

function count(window: WindowCount, outcome: Verdict['outcome'], region: number): void {
  window.asked++;
  if (outcome === 'valid') window.admitted[region] = (window.admitted[region] ?? 0) + 1;
}

function summarize(windowCounts: ReadonlyMap<number, WindowCount>): StrictResult {
  const windows = [...windowCounts]
    .map(([reset, counted]) => ({ reset, ...counted }))
    .sort((a, b) => a.reset - b.reset);
  const full = windows.slice(1, -1);
  if (full.length === 0)
    throw new Error('No strict window was under load from beginning to end. Try a longer --seconds.');
  const admitted = full.map((window) => sum(window.admitted));
  return {
    full,
    leastAdmitted: least(admitted),
    mostAdmitted: greatest(admitted),
    leastAsked: least(full.map(({ asked }) => asked)),
    mostEver: greatest(windows.map((window) => sum(window.admitted))),
  };
}
