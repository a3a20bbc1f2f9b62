import { Child } from '../child.ts';
import { fillFolder } from '../fill.ts';
import { probe } from '../probe.ts';
import { processorSeconds, residentMebibytes } from '../process.ts';

const KEYS = 100;
/** Time for the work after the first answer: a thread starts and writes its analytics. */
const SETTLE_MS = 12_000;
const IDLE_MS = 10_000;

export interface IdleResult {
  readonly residentMebibytes: number;
  readonly processorPercent: number;
}

/** Measures a service that has answered one request and then receives none. */
export async function measureIdle(folder: string): Promise<IdleResult> {
  fillFolder(folder, KEYS, 'plain');
  const server = await Child.startService({ folder, addedFlushMs: 0 });
  await probe(server.port);
  await Bun.sleep(SETTLE_MS);
  const before = processorSeconds(server.pid);
  await Bun.sleep(IDLE_MS);
  const processorPercent = ((processorSeconds(server.pid) - before) / (IDLE_MS / 1000)) * 100;
  const resident = residentMebibytes(server.pid);
  await server.stop();
  return { residentMebibytes: resident, processorPercent };
}
