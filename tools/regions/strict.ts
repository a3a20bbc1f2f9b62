import type { Lab } from './lab.ts';
import type { Region, Verdict } from './region.ts';
import { greatest, least, scaled, sum } from './statistics.ts';

export const STRICT_LIMIT = 100;
export const STRICT_WINDOW_MS = 1_000;
const WINDOWS = 8;
/** In each region. */
const CLIENTS = 20;
/** A refused client asks again after this, at the latest. */
const PAUSE_MS = 20;

interface Window {
  readonly reset: number;
  /** Verdicts of any kind. */
  readonly asked: number;
  /** In each region. */
  readonly admitted: readonly number[];
}

export interface StrictResult {
  /** Those that were hammered from their beginning to their end. */
  readonly full: readonly Window[];
  readonly leastAdmitted: number;
  readonly mostAdmitted: number;
  readonly leastAsked: number;
  /** Over all windows, also the first and the last. */
  readonly mostEver: number;
}

interface Tally {
  asked: number;
  readonly admitted: number[];
}

/** All regions ask for one key far more often than its strict limit allows. */
export async function measureStrict(lab: Lab, scale: number): Promise<StrictResult> {
  const { key } = await lab.createKey({ async: false, limit: STRICT_LIMIT, duration: STRICT_WINDOW_MS });
  const tallies = new Map<number, Tally>();
  // One more, because it begins and ends in the middle of a window.
  const untilMs = performance.now() + (scaled(WINDOWS, scale, 2) + 1) * STRICT_WINDOW_MS;
  const tallyOf = (reset: number): Tally => {
    const tally = tallies.get(reset) ?? { asked: 0, admitted: lab.regions.map(() => 0) };
    tallies.set(reset, tally);
    return tally;
  };
  const hammer = async (region: Region, number: number): Promise<void> => {
    while (performance.now() < untilMs) {
      const { outcome, limit } = await region.verify(key);
      if (limit !== null) count(tallyOf(limit.reset), outcome, number);
      if (outcome !== 'valid') await Bun.sleep(PAUSE_MS * Math.random());
    }
  };
  const clients = lab.regions.flatMap((region, number) =>
    Array.from({ length: CLIENTS }, () => hammer(region, number)),
  );
  await Promise.all(clients);
  return summarize(tallies);
}

function count(tally: Tally, outcome: Verdict['outcome'], region: number): void {
  tally.asked++;
  if (outcome === 'valid') tally.admitted[region] = (tally.admitted[region] ?? 0) + 1;
}

function summarize(tallies: ReadonlyMap<number, Tally>): StrictResult {
  const windows = [...tallies].map(([reset, tally]) => ({ reset, ...tally })).sort((a, b) => a.reset - b.reset);
  const full = windows.slice(1, -1);
  if (full.length === 0) throw new Error('no strict window was hammered from its beginning to its end');
  const admitted = full.map((window) => sum(window.admitted));
  return {
    full,
    leastAdmitted: least(admitted),
    mostAdmitted: greatest(admitted),
    leastAsked: least(full.map(({ asked }) => asked)),
    mostEver: greatest(windows.map((window) => sum(window.admitted))),
  };
}
