import { Child } from '../child.ts';
import { fillFolder } from '../fill.ts';
import { runLoad } from '../load.ts';
import { CONNECTIONS, type Pace, warmUp } from '../pairs.ts';
import { atRandom, type RequestPool } from '../requests.ts';
import { median } from '../statistics.ts';

/** The crowd has this many times the usual connections. */
const CROWD = 10;
/** Rounds are longer than in other rows, because ten times as many requests are in flight. */
const ROUND_FACTOR = 3;

export interface OverloadResult {
  /** Answers per second with ten times the usual connections, divided by those with the usual number. */
  readonly crowdRatio: number;
  /** Answers per second for callers of many keys while as many callers use one key, divided by those without them. */
  readonly floodedRatio: number;
  readonly floodedP99Ratio: number;
}

/** Keys with credits and durable answers: more callers than can be served, and callers that all use the same key. */
export async function measureOverload(folder: string, pool: RequestPool, pace: Pace): Promise<OverloadResult> {
  fillFolder(folder, pool.count, 'credits');
  const child = await Child.startService({ folder, addedFlushMs: 0 });
  await warmUp({ children: [child], pool, keys: pool.count });
  const many = { ports: [child.port], pool, seconds: pace.secondsPerRound * ROUND_FACTOR };
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
