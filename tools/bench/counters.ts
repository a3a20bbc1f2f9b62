import { Child } from './child.ts';
import { fillFolder, type KeyShape } from './fill.ts';
import { measureFlushMs } from './flush.ts';
import { compare, type Comparison, type Pace, SERVICE_TIMES, type Side, warmUp } from './pairs.ts';
import { probe } from './probe.ts';
import type { RequestPool } from './requests.ts';

export interface CounterRow {
  readonly name: string;
  readonly title: string;
  readonly shape: KeyShape;
  readonly addedFlushMs: number;
  /** Least share of the yardstick's requests per second; null = none is set. */
  readonly targetRatio: number | null;
  /** The yardstick's p99 so many times at the most. */
  readonly targetP99Ratio: number | null;
}

export const COUNTER_ROWS: readonly CounterRow[] = [
  { name: 'no-counter', title: 'no counter', shape: 'plain', addedFlushMs: 0, targetRatio: 0.9, targetP99Ratio: 3 },
  { name: 'local', title: 'local limit', shape: 'local', addedFlushMs: 0, targetRatio: 0.88, targetP99Ratio: 3 },
  { name: 'counted', title: 'counted', shape: 'credits', addedFlushMs: 0, targetRatio: 0.75, targetP99Ratio: 3 },
  {
    name: 'slow-disk',
    title: 'counted, +2 ms a flush',
    shape: 'credits',
    addedFlushMs: 2,
    targetRatio: null,
    targetP99Ratio: null,
  },
  { name: 'strict', title: 'strict limit', shape: 'strict', addedFlushMs: 0, targetRatio: null, targetP99Ratio: null },
];

export interface CounterResult {
  readonly row: CounterRow;
  readonly comparison: Comparison;
  /** Of the disk alone, measured beside the row; null where nothing is flushed before the answer. */
  readonly flushMs: number | null;
}

/** The service with keys of one shape against a yardstick that answers what it answers. */
export async function measureRow(
  row: CounterRow,
  folder: string,
  pool: RequestPool,
  pace: Pace,
): Promise<CounterResult> {
  fillFolder(folder, pool.count, row.shape);
  const isDurable = row.shape === 'credits' || row.shape === 'strict';
  const flushMs = isDurable ? measureFlushMs(folder) + row.addedFlushMs : null;
  const server = await Child.startService({ folder, addedFlushMs: row.addedFlushMs });
  const bare = await Child.startBare(await probe(server.port));
  const baseline: Side = { child: bare, pool, keys: pool.count };
  const subject: Side = { child: server, pool, keys: pool.count, times: SERVICE_TIMES };
  await warmUp(baseline);
  await warmUp(subject);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([server.stop(), bare.stop()]);
  requireEqualAnswers(comparison);
  return { row, comparison, flushMs };
}

function requireEqualAnswers({ baseline, subject }: Comparison): void {
  if (Math.abs(baseline.answerBytes - subject.answerBytes) < 1) return;
  throw new Error(`the answers compared have ${baseline.answerBytes} and ${subject.answerBytes} bytes`);
}
