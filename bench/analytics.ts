import { Child } from './child.ts';
import { fillFolder } from './fill.ts';
import { compare, type Comparison, type Pace, type Side, warmUp } from './pairs.ts';
import type { RequestPool } from './requests.ts';

/** What counting verifications costs: the service without counters, with analytics off and on. */
export async function measureAnalytics(
  folders: { off: string; on: string },
  pool: RequestPool,
  pace: Pace,
): Promise<Comparison> {
  const [off, on] = [await startSide(folders.off, pool, false), await startSide(folders.on, pool, true)];
  await warmUp(off);
  await warmUp(on);
  const comparison = await compare(off, on, pace);
  await Promise.all([off.child.stop(), on.child.stop()]);
  return comparison;
}

async function startSide(folder: string, pool: RequestPool, analytics: boolean): Promise<Side> {
  fillFolder(folder, pool.count, 'plain');
  return { child: await Child.startService({ folder, addedFlushMs: 0, analytics }), pool, keys: pool.count };
}
