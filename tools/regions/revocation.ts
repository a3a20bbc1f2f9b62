import type { Lab } from './lab.ts';
import { inRows, type Path, pathsBetween, record, whenSeen } from './paths.ts';
import { greatest, scaled } from './statistics.ts';

const ROWS = 5;
/** Trials in each row. */
const TRIALS = 5;

export interface RevocationResult {
  readonly paths: readonly Path[];
  /** How long after the answer of the deletion another region still admitted a request: the longest time. */
  readonly latestAdmittedMs: number;
  /** Requests that the deleting region itself admitted after its answer. */
  readonly admittedWhereDeleted: number;
}

/** Measures how long the other regions take to refuse a key after one region has answered its deletion. */
export async function measureRevocation(lab: Lab, scale: number): Promise<RevocationResult> {
  const { regions } = lab;
  const paths = pathsBetween(regions);
  const admittedMs: number[] = [];
  let admittedWhereDeleted = 0;
  const trials = scaled(TRIALS, scale, 1);
  const keys = await lab.createKeys(regions.length * ROWS * trials, null);
  await inRows(regions, ROWS, trials, async (from) => {
    const { keyId, key } = keys.pop() ?? { keyId: '', key: '' };
    await from.manage('/v1/keys.deleteKey', { keyId });
    const deletedAtMs = performance.now();
    const watch = regions.filter((region) => region !== from);
    const others = watch.map(async (to) => {
      const refused = await whenSeen(
        () => to.verify(key),
        ({ outcome, sentAtMs }) => {
          if (outcome === 'valid') admittedMs.push(sentAtMs - deletedAtMs);
          return outcome === 'refused';
        },
      );
      // The time at which the refused request was sent. The refusal itself may take longer, because the node may look the key up.
      record(paths, from, to, refused.sentAtMs - deletedAtMs);
    });
    if ((await from.verify(key)).outcome === 'valid') admittedWhereDeleted++;
    await Promise.all(others);
  });
  return { paths, latestAdmittedMs: greatest(admittedMs), admittedWhereDeleted };
}
