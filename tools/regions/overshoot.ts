import { type Key, type Lab, LONG_WINDOW_MS } from './lab.ts';
import type { Region } from './region.ts';
import { scaled } from './statistics.ts';

export const LOCAL_LIMIT = 300;
/** Seconds that all regions together need for as many requests as the limit allows. */
const LEVELS = [0.25, 0.5, 1, 2, 4, 10];
const SHORTEST_OF_LONGEST = 1;
const TRIALS = 3;
const BETWEEN_TRIALS_MS = 1_500;
/** Each node admits at most the limit, so that this is never reached unless it does not. */
const MAX_SENT = 3 * LOCAL_LIMIT;

export interface Trial {
  /** In each region. */
  readonly admitted: readonly number[];
}

export interface Level {
  readonly secondsToLimit: number;
  /** Requests a second over all regions. */
  readonly perSecond: number;
  readonly trials: readonly Trial[];
}

/**
 * How far a local limit is exceeded, at loads that reach it sooner or later. Levels run side by side on keys of their own,
 * the trials of a level one and a half seconds apart.
 */
export async function measureOvershoot(lab: Lab, scale: number): Promise<Level[]> {
  const longest = Math.max(SHORTEST_OF_LONGEST, 10 * scale);
  const levels = LEVELS.filter((seconds) => seconds <= longest);
  const trials = scaled(TRIALS, scale, 1);
  const limit = { async: true, limit: LOCAL_LIMIT, duration: LONG_WINDOW_MS };
  const keys = await lab.createKeys(levels.length * trials, limit);
  return Promise.all(levels.map((seconds, i) => measureLevel(lab, seconds, keys.slice(i * trials, (i + 1) * trials))));
}

async function measureLevel(lab: Lab, secondsToLimit: number, keys: readonly Key[]): Promise<Level> {
  const perSecond = LOCAL_LIMIT / secondsToLimit;
  const measureTrial = async ({ key }: Key, number: number): Promise<Trial> => {
    await Bun.sleep(number * BETWEEN_TRIALS_MS);
    const each = perSecond / lab.regions.length;
    return { admitted: await Promise.all(lab.regions.map((region) => driveUntilRefused(region, key, each))) };
  };
  return { secondsToLimit, perSecond, trials: await Promise.all(keys.map(measureTrial)) };
}

/** Requests at a steady rate, whether or not the earlier ones have been answered; answers how many were admitted. */
async function driveUntilRefused(region: Region, key: string, perSecond: number): Promise<number> {
  const answers: Promise<void>[] = [];
  const startedAtMs = performance.now();
  const seen = { admitted: 0, isRefused: false };
  const ask = async (): Promise<void> => {
    const { outcome } = await region.verify(key);
    if (outcome === 'valid') seen.admitted++;
    if (outcome === 'refused') seen.isRefused = true;
  };
  for (let sent = 0; !seen.isRefused && sent < MAX_SENT; sent++) {
    const dueAtMs = startedAtMs + (sent * 1000) / perSecond;
    await Bun.sleep(Math.max(0, dueAtMs - performance.now()));
    answers.push(ask());
  }
  await Promise.all(answers);
  return seen.admitted;
}
