import { type Key, type Lab, LONG_WINDOW_MS } from './lab.ts';
import type { Region } from './region.ts';
import { percentile } from './statistics.ts';

const SECONDS = 6;
/** The runtime of a new node compiles as it goes. */
const WARM_UP_SECONDS = 1.5;
/** So many that nothing is refused. */
const LIMIT = 1_000_000_000;
/** In each region, each with a key of its own. Few enough that requests wait for the link and not for the processors. */
const STRICT_CLIENTS = 4;
/** Clients that ask again at once would fall into step with the batches of the node. */
const STRICT_PAUSE_MS = 100;
/** Between two pairs of a liveness request and a local verification. */
const PAUSE_MS = 4;

export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const KINDS = ['liveness', 'local', 'strict'] as const;
export type Kind = (typeof KINDS)[number];

export interface RegionLatency extends Readonly<Record<Kind, Latency>> {
  readonly region: string;
  readonly delayMs: number;
}

type Samples = Record<Kind, number[]>;

const NONE: Samples = { liveness: [], local: [], strict: [] };

/** How long the clients of each region wait, side by side: for nothing, for a local and for a strict verification. */
export async function measureLatency(lab: Lab, scale: number): Promise<RegionLatency[]> {
  const keys = await Promise.all(
    lab.regions.map(async () => ({
      local: await lab.createKey({ async: true, limit: LIMIT, duration: LONG_WINDOW_MS }),
      strict: await lab.createKeys(STRICT_CLIENTS, { async: false, limit: LIMIT, duration: LONG_WINDOW_MS }),
    })),
  );
  const all = (seconds: number): Promise<Samples[]> =>
    Promise.all(keys.map(({ local, strict }, i) => sample(lab.regions[i] ?? lab.regions[0], local, strict, seconds)));
  await all(WARM_UP_SECONDS);
  const samples = await all(Math.max(2, SECONDS * scale));
  return lab.regions.map((region, i) => ({
    region: region.name,
    delayMs: region.delayMs,
    ...summarize(region, samples[i] ?? NONE),
  }));
}

async function sample(region: Region, local: Key, strict: readonly Key[], seconds: number): Promise<Samples> {
  const samples: Samples = { liveness: [], local: [], strict: [] };
  const untilMs = performance.now() + seconds * 1000;
  const verify = async (key: Key, into: number[]): Promise<void> => {
    const { outcome, sentAtMs, answeredAtMs } = await region.verify(key.key);
    if (outcome === 'valid') into.push(answeredAtMs - sentAtMs);
  };
  const pairs = async (): Promise<void> => {
    // In turn the one and the other first: after a pause the first finds everything cold.
    for (let isLiveFirst = true; performance.now() < untilMs; isLiveFirst = !isLiveFirst) {
      if (isLiveFirst) samples.liveness.push(await region.live());
      await verify(local, samples.local);
      if (!isLiveFirst) samples.liveness.push(await region.live());
      await Bun.sleep(PAUSE_MS);
    }
  };
  const strictOnes = async (key: Key): Promise<void> => {
    while (performance.now() < untilMs) {
      await verify(key, samples.strict);
      await Bun.sleep(STRICT_PAUSE_MS * Math.random());
    }
  };
  await Promise.all([pairs(), ...strict.map(strictOnes)]);
  return samples;
}

function summarize(region: Region, samples: Samples): Readonly<Record<Kind, Latency>> {
  const latencyOf = (kind: Kind): Latency => {
    const times = samples[kind];
    if (times.length === 0) throw new Error(`no ${kind} request succeeded in ${region.name}: ${region.lastFailure}`);
    return { count: times.length, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
  };
  return { liveness: latencyOf('liveness'), local: latencyOf('local'), strict: latencyOf('strict') };
}
