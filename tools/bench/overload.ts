import { Child } from './child.ts';
import { fillFolder } from './fill.ts';
import { runLoad } from './load.ts';
import { CONNECTIONS, type Pace, warmUp } from './pairs.ts';
import { atRandom, type RequestPool } from './requests.ts';
import { median } from './statistics.ts';

/** How many times as many callers as elsewhere. */
const CROWD = 10;
/** Longer than elsewhere: ten times as many requests are under way. */
const ROUND_FACTOR = 3;

export interface OverloadResult {
  /** Answers a second to ten times as many callers, through those to the usual number. */
  readonly crowdRatio: number;
  /** What callers of many keys get while as many callers ask for one key, through what they get alone. */
  readonly floodedRatio: number;
  readonly floodedP99Ratio: number;
}

/** Keys with credits, each answer durable: more callers than can be served, and callers who all want the same key. */
export async function measureOverload(folder: string, pool: RequestPool, pace: Pace): Promise<OverloadResult> {
  fillFolder(folder, pool.count, 'credits');
  const child = await Child.startService({ folder, addedFlushMs: 0 });
  await warmUp({ child, pool, keys: pool.count });
  const many = { port: child.port, pool, seconds: pace.secondsPerRound * ROUND_FACTOR };
  const usual = { ...many, pick: atRandom(pool.count), connections: CONNECTIONS };
  const rounds: OverloadResult[] = [];
  for (let round = 0; round < pace.rounds; round++) {
    const alone = await runLoad(usual);
    const crowd = await runLoad({ ...usual, connections: CONNECTIONS * CROWD });
    const flood = runLoad({ ...many, pick: () => 0, connections: CONNECTIONS, isTimed: false });
    const flooded = await runLoad(usual);
    await flood;
    rounds.push({
      crowdRatio: crowd.perSecond / alone.perSecond,
      floodedRatio: flooded.perSecond / alone.perSecond,
      floodedP99Ratio: flooded.p99Ms / alone.p99Ms,
    });
  }
  await child.stop();
  return {
    crowdRatio: median(rounds.map(({ crowdRatio }) => crowdRatio)),
    floodedRatio: median(rounds.map(({ floodedRatio }) => floodedRatio)),
    floodedP99Ratio: median(rounds.map(({ floodedP99Ratio }) => floodedP99Ratio)),
  };
}
