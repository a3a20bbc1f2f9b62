import { Child } from '../child.ts';
import { fillFolder, type KeyShape } from '../fill.ts';
import { measureFlushMs } from '../flush.ts';
import { compare, type Comparison, type Pace, SERVICE_TIMES, type Side, warmUp } from '../pairs.ts';
import { probe } from '../probe.ts';
import type { RequestPool } from '../requests.ts';

export interface CounterRow {
  readonly name: string;
  readonly title: string;
  readonly shape: KeyShape;
  readonly addedFlushMs: number;
  /** The smallest accepted share of the yardstick's requests per second. Null: no target. */
  readonly targetRatio: number | null;
  /** The largest accepted p99, as a multiple of the yardstick's. Null: no target. */
  readonly targetP99Ratio: number | null;
}

export const COUNTER_ROWS: readonly CounterRow[] = [
  { name: 'no-counter', title: 'no counter', shape: 'plain', addedFlushMs: 0, targetRatio: 1, targetP99Ratio: 3 },
  { name: 'local', title: 'local limit', shape: 'local', addedFlushMs: 0, targetRatio: 0.88, targetP99Ratio: 3 },
  { name: 'counted', title: 'credits', shape: 'credits', addedFlushMs: 0, targetRatio: 0.75, targetP99Ratio: 3 },
  {
    name: 'slow-disk',
    title: 'credits, each flush 2 ms slower',
    shape: 'credits',
    addedFlushMs: 2,
    targetRatio: null,
    targetP99Ratio: null,
  },
  { name: 'strict', title: 'strict limit', shape: 'strict', addedFlushMs: 0, targetRatio: 0.65, targetP99Ratio: null },
];

export interface CounterResult {
  readonly row: CounterRow;
  readonly comparison: Comparison;
  /** Time of a flush of the disk, measured next to the row. Null: this row flushes nothing before the answer. */
  readonly flushMs: number | null;
}

/** Compares the service, with keys of one shape, to a yardstick whose answers have the same size. */
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
  const baseline: Side = { children: [bare], pool, keys: pool.count };
  const subject: Side = { children: [server], pool, keys: pool.count, times: SERVICE_TIMES };
  await warmUp(baseline);
  await warmUp(subject);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([server.stop(), bare.stop()]);
  requireEqualAnswers(comparison);
  return { row, comparison, flushMs };
}

function requireEqualAnswers({ baseline, subject }: Comparison): void {
  if (Math.abs(baseline.answerBytes - subject.answerBytes) < 1) return;
  throw new Error(`The compared answers differ in size: ${baseline.answerBytes} and ${subject.answerBytes} bytes.`);
}
