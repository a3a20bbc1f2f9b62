import { Child } from '../child.ts';
import { fillFolder } from '../fill.ts';
import { compare, type Comparison, type Pace, type Side, warmUp } from '../pairs.ts';
import { probe } from '../probe.ts';
import { residentMebibytes } from '../process.ts';
import { RequestPool } from '../requests.ts';

const MANY = 1_000_000;
const FEW = 1_000;

export interface MillionResult {
  /** From the start of the process to its first valid verdict. */
  readonly startSeconds: number;
  /** Keys per second when each key is verified for the first time. */
  readonly firstSeenPerSecond: number;
  readonly comparison: Comparison;
  readonly residentMebibytes: number;
}

/** Compares a million stored keys to a thousand: the start, the speed after all keys were verified once, and the memory. */
export async function measureMillion(folders: { many: string; few: string }, pace: Pace): Promise<MillionResult> {
  const pool = new RequestPool(MANY);
  fillFolder(folders.many, MANY, 'plain');
  fillFolder(folders.few, FEW, 'plain');
  const startedAtMs = performance.now();
  const server = await Child.startService({ folder: folders.many, addedFlushMs: 0 });
  await probe(server.port);
  const startSeconds = (performance.now() - startedAtMs) / 1000;
  const many: Side = { children: [server], pool, keys: MANY };
  const fewServer = await Child.startService({ folder: folders.few, addedFlushMs: 0 });
  const few: Side = { children: [fewServer], pool, keys: FEW };
  const { perSecond: firstSeenPerSecond } = await warmUp(many);
  await warmUp(few);
  const comparison = await compare(few, many, pace);
  const resident = residentMebibytes(server.pid);
  await Promise.all([server.stop(), fewServer.stop()]);
  return { startSeconds, firstSeenPerSecond, comparison, residentMebibytes: resident };
}
