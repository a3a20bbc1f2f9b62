import { Child } from './child.ts';
import { fillFolder } from './fill.ts';
import { type Round, runLoad } from './load.ts';
import { CONNECTIONS, type Side, warmUp } from './pairs.ts';
import { mainThreadSeconds, processorSeconds } from './process.ts';
import { atRandom, type RequestPool } from './requests.ts';

/** So long that counts are written, and summed, as they are in the long run. */
const SECONDS = 150;

export interface AnalyticsSide {
  readonly perSecond: number;
  /** Processor time of the thread that answers, for each request; null where the system does not tell. */
  readonly answerMicroseconds: number | null;
  /** Processors that its other threads kept busy. */
  readonly behind: number | null;
}

export interface AnalyticsResult {
  readonly off: AnalyticsSide;
  readonly on: AnalyticsSide;
}

/**
 * What counting verifications costs: the service without counters, with analytics off and on, both under load at the same
 * time, so that whatever disturbs one disturbs the other. In turn, as elsewhere, would not do: what is done behind
 * the answers goes by the clock, which runs on while a side is stopped.
 */
export async function measureAnalytics(
  folders: { off: string; on: string },
  pool: RequestPool,
): Promise<AnalyticsResult> {
  const [off, on] = [await startSide(folders.off, pool, false), await startSide(folders.on, pool, true)];
  await warmUp(off);
  await warmUp(on);
  const measured = { off: measureSide(off), on: measureSide(on) };
  const result = { off: await measured.off, on: await measured.on };
  await Promise.all([off.child.stop(), on.child.stop()]);
  return result;
}

async function startSide(folder: string, pool: RequestPool, analytics: boolean): Promise<Side> {
  fillFolder(folder, pool.count, 'plain');
  return { child: await Child.startService({ folder, addedFlushMs: 0, analytics }), pool, keys: pool.count };
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
  if (before[0] === null || after[0] === null) return { perSecond, answerMicroseconds: null, behind: null };
  const answering = after[0] - before[0];
  const behind = (after[1] - before[1] - answering) / SECONDS;
  return { perSecond, answerMicroseconds: (answering / answers) * 1_000_000, behind };
}
