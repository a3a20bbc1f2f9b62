import { Child } from './child.ts';
import { fillFolder } from './fill.ts';
import { probe } from './probe.ts';
import { processorSeconds, residentMebibytes } from './process.ts';

const KEYS = 100;
/** Until what follows the first answer is done: its analytics are written, by a thread that is started for it. */
const SETTLE_MS = 12_000;
const IDLE_MS = 10_000;

export interface IdleResult {
  readonly residentMebibytes: number;
  readonly processorPercent: number;
}

/** A service that was started, has answered once, and is left alone. */
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
