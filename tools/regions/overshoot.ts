import { type Key, type Lab, LONG_WINDOW_MS } from './lab.ts';
import type { Region } from './region.ts';
import { scaled } from './statistics.ts';

export const LOCAL_LIMIT = 300;
/** The loads, as the seconds in which all regions together send as many requests as the limit allows. */
const LEVELS = [0.25, 0.5, 1, 2, 4, 10];
const SHORTEST_OF_LONGEST = 1;
const TRIALS = 3;
const BETWEEN_TRIALS_MS = 1_500;
/** Stops a trial when a node admits more than its limit, which must not happen. */
const MAX_SENT = 3 * LOCAL_LIMIT;

export interface Trial {
  /** Admitted requests in each region. */
  readonly admitted: readonly number[];
}

export interface Level {
  readonly secondsToLimit: number;
  /** Requests per second of all regions together. */
  readonly perSecond: number;
  readonly trials: readonly Trial[];
}

/**
 * Measures by how much a local limit is exceeded, at different loads. All levels run at the same time, each with its own keys.
 * The trials of a level start one and a half seconds apart.
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

/** Sends requests at a steady rate, without waiting for answers, until one is refused. Returns the number of admitted ones. */
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
