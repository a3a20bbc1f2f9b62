import { join } from 'node:path';

import { Child } from '../child.ts';
import { costBetween, type CountingCost, readNote } from './countingCost.ts';
import { fillFolder } from '../fill.ts';
import { type Round, runLoad } from '../load.ts';
import { CONNECTIONS, type Side, warmUp } from '../pairs.ts';
import { mainThreadSeconds, processorSeconds } from '../process.ts';
import { atRandom, type RequestPool } from '../requests.ts';

/** Long enough that counts are written many times and summed at least once. */
const SECONDS = 40;
/** How long the cost within one process is measured. */
const COST_SECONDS = 120;
/** Two processes that do the same differ by up to 2 % for their whole life, so several of each are measured. */
const PAIRS = 4;

export interface AnalyticsSide {
  readonly perSecond: number;
  /** Null where the system does not report the time of a thread. */
  readonly processor: {
    /** Processor time of the answering thread for each request. */
    readonly answerMicroseconds: number;
    /** Processors that the other threads kept busy. */
    readonly background: number;
  } | null;
}

export interface AnalyticsResult {
  readonly off: AnalyticsSide;
  readonly on: AnalyticsSide;
  /** Null where the system does not report the time of a thread. */
  readonly cost: CountingCost | null;
}

/**
 * The cost of counting verifications. Two services, with analytics off and on, are under load at the same time, so that a
 * disturbance affects both. Measuring them in turn, as in other rows, would distort the result: background work follows the
 * clock, which runs on while a process is stopped.
 */
export async function measureAnalytics(folder: string, pool: RequestPool): Promise<AnalyticsResult> {
  const sides: Record<Mode, AnalyticsSide[]> = { off: [], on: [] };
  for (let pair = 0; pair < PAIRS; pair++) {
    // Which one starts first changes with every pair.
    const modes: readonly Mode[] = pair % 2 === 0 ? ['off', 'on'] : ['on', 'off'];
    const started: Side[] = [];
    for (const mode of modes) started.push(await startSide(join(folder, `${mode}${pair}`), pool, mode));
    for (const side of started) await warmUp(side);
    const measured = await Promise.all(started.map(measureSide));
    for (const [i, side] of measured.entries()) sides[modes[i] as Mode].push(side);
    await Promise.all(started.map(({ children: [child] }) => child.stop()));
  }
  const cost = await measureCost(join(folder, 'cost'), pool);
  return { off: meanOf(sides.off), on: meanOf(sides.on), cost };
}

type Mode = 'off' | 'on';

async function measureCost(folder: string, pool: RequestPool): Promise<CountingCost | null> {
  fillFolder(folder, pool.count, 'plain');
  const costFile = join(folder, 'cost.json');
  const child = await Child.startService({ folder, addedFlushMs: 0, analytics: true, costFile });
  await warmUp({ children: [child], pool, keys: pool.count });
  const before = readNote(costFile);
  const load = { ports: [child.port], pool, pick: atRandom(pool.count), connections: CONNECTIONS };
  await runLoad({ ...load, seconds: COST_SECONDS });
  const after = readNote(costFile);
  await child.stop();
  return before === null || after === null ? null : costBetween(before, after);
}

function meanOf(sides: readonly AnalyticsSide[]): AnalyticsSide {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / sides.length;
  const reported = sides.flatMap(({ processor }) => processor ?? []);
  return {
    perSecond: mean(sides.map(({ perSecond }) => perSecond)),
    processor:
      reported.length < sides.length
        ? null
        : {
            answerMicroseconds: mean(reported.map(({ answerMicroseconds }) => answerMicroseconds)),
            background: mean(reported.map(({ background }) => background)),
          },
  };
}

async function startSide(folder: string, pool: RequestPool, mode: Mode): Promise<Side> {
  fillFolder(folder, pool.count, 'plain');
  return {
    children: [await Child.startService({ folder, addedFlushMs: 0, analytics: mode === 'on' })],
    pool,
    keys: pool.count,
  };
}

async function measureSide({ children: [{ pid, port }], pool, keys }: Side): Promise<AnalyticsSide> {
  const before = [mainThreadSeconds(pid), processorSeconds(pid)] as const;
  const connections = CONNECTIONS / 2;
  const { answers, perSecond }: Round = await runLoad({
    ports: [port],
    pool,
    pick: atRandom(keys),
    connections,
    seconds: SECONDS,
  });
  const after = [mainThreadSeconds(pid), processorSeconds(pid)] as const;
  if (before[0] === null || after[0] === null) return { perSecond, processor: null };
  const answering = after[0] - before[0];
  const background = (after[1] - before[1] - answering) / SECONDS;
  return { perSecond, processor: { answerMicroseconds: (answering / answers) * 1_000_000, background } };
}
