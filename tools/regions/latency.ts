import { type Key, type Lab, LONG_WINDOW_MS } from './lab.ts';
import type { Region } from './region.ts';
import { percentile } from './statistics.ts';

const SECONDS = 6;
/** The runtime of a new node compiles code while it runs. */
const WARM_UP_SECONDS = 1.5;
/** High enough that nothing is refused. */
const LIMIT = 1_000_000_000;
/** Clients in each region, each with its own key. Few enough that requests wait for the link and not for the processors. */
const STRICT_CLIENTS = 4;
/** The longest pause of a client. Without it, clients would fall into step with the batches of the node. */
const STRICT_PAUSE_MS = 100;
/** The pause between two pairs of a liveness request and a local verification. */
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

/** Measures in each region how long clients wait for a liveness request, a local and a strict verification. */
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
    // The order alternates: after a pause the first request finds cold caches.
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
    if (times.length === 0)
      throw new Error(`No ${kind} request succeeded in ${region.name}. The last error: ${region.lastFailure}`);
    return { count: times.length, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
  };
  return { liveness: latencyOf('liveness'), local: latencyOf('local'), strict: latencyOf('strict') };
}
