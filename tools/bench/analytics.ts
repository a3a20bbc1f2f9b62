import { join } from 'node:path';

import { Child } from './child.ts';
import { costBetween, type CountingCost, readNote } from './countingCost.ts';
import { fillFolder } from './fill.ts';
import { type Round, runLoad } from './load.ts';
import { CONNECTIONS, type Side, warmUp } from './pairs.ts';
import { mainThreadSeconds, processorSeconds } from './process.ts';
import { atRandom, type RequestPool } from './requests.ts';

/** So long that counts are written all the time, and summed at least once. */
const SECONDS = 40;
/** The cost of a part of one process. */
const COST_SECONDS = 120;
/** Two processes that do the same were seen to differ by 2 %, from their start to their end: so there are several of each. */
const PAIRS = 4;

export interface AnalyticsSide {
  readonly perSecond: number;
  /** null where the system does not tell. */
  readonly processor: {
    /** Time of the thread that answers, for each request. */
    readonly answerMicroseconds: number;
    /** Processors that its other threads kept busy. */
    readonly behind: number;
  } | null;
}

export interface AnalyticsResult {
  readonly off: AnalyticsSide;
  readonly on: AnalyticsSide;
  /** null where the system does not tell. */
  readonly cost: CountingCost | null;
}

/**
 * What counting verifications costs: the service without counters, with analytics off and on, both under load at the same
 * time, so that whatever disturbs one disturbs the other. In turn, as elsewhere, would not do: what is done behind
 * the answers goes by the clock, which runs on while a side is stopped.
 */
export async function measureAnalytics(folder: string, pool: RequestPool): Promise<AnalyticsResult> {
  const sides: Record<Mode, AnalyticsSide[]> = { off: [], on: [] };
  for (let pair = 0; pair < PAIRS; pair++) {
    // Neither is always the older one.
    const modes: readonly Mode[] = pair % 2 === 0 ? ['off', 'on'] : ['on', 'off'];
    const started: Side[] = [];
    for (const mode of modes) started.push(await startSide(join(folder, `${mode}${pair}`), pool, mode));
    for (const side of started) await warmUp(side);
    const measured = await Promise.all(started.map(measureSide));
    for (const [i, side] of measured.entries()) sides[modes[i] as Mode].push(side);
    await Promise.all(started.map(({ child }) => child.stop()));
  }
  const cost = await measureCost(join(folder, 'cost'), pool);
  return { off: meanOf(sides.off), on: meanOf(sides.on), cost };
}

type Mode = 'off' | 'on';

async function measureCost(folder: string, pool: RequestPool): Promise<CountingCost | null> {
  fillFolder(folder, pool.count, 'plain');
  const costFile = join(folder, 'cost.json');
  const child = await Child.startService({ folder, addedFlushMs: 0, analytics: true, costFile });
  await warmUp({ child, pool, keys: pool.count });
  const before = readNote(costFile);
  const load = { port: child.port, pool, pick: atRandom(pool.count), connections: CONNECTIONS };
  await runLoad({ ...load, seconds: COST_SECONDS });
  const after = readNote(costFile);
  await child.stop();
  return before === null || after === null ? null : costBetween(before, after);
}

function meanOf(sides: readonly AnalyticsSide[]): AnalyticsSide {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / sides.length;
  const told = sides.flatMap(({ processor }) => processor ?? []);
  return {
    perSecond: mean(sides.map(({ perSecond }) => perSecond)),
    processor:
      told.length < sides.length
        ? null
        : {
            answerMicroseconds: mean(told.map(({ answerMicroseconds }) => answerMicroseconds)),
            behind: mean(told.map(({ behind }) => behind)),
          },
  };
}

async function startSide(folder: string, pool: RequestPool, mode: Mode): Promise<Side> {
  fillFolder(folder, pool.count, 'plain');
  return {
    child: await Child.startService({ folder, addedFlushMs: 0, analytics: mode === 'on' }),
    pool,
    keys: pool.count,
  };
}

async function measureSide({ child: { pid, port }, pool, keys }: Side): Promise<AnalyticsSide> {
  const before = [mainThreadSeconds(pid), processorSeconds(pid)] as const;
  const connections = CONNECTIONS / 2;
  const { answers, perSecond }: Round = await runLoad({
    port,
    pool,
    pick: atRandom(keys),
    connections,
    seconds: SECONDS,
  });
  const after = [mainThreadSeconds(pid), processorSeconds(pid)] as const;
  if (before[0] === null || after[0] === null) return { perSecond, processor: null };
  const answering = after[0] - before[0];
  const behind = (after[1] - before[1] - answering) / SECONDS;
  return { perSecond, processor: { answerMicroseconds: (answering / answers) * 1_000_000, behind } };
}
