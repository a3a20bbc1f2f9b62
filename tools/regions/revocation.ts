import type { Lab } from './lab.ts';
import { inRows, type Path, pathsBetween, record, whenSeen } from './paths.ts';
import { greatest, scaled } from './statistics.ts';

const ROWS = 5;
/** Of each row. */
const TRIALS = 5;

export interface RevocationResult {
  readonly paths: readonly Path[];
  /** The latest request, counted from the answer of the deletion, that another region still admitted. */
  readonly latestAdmittedMs: number;
  /** Requests sent after the answer that the deleting region itself admitted. */
  readonly admittedWhereDeleted: number;
}

/** After one region has answered that a key is deleted: how long until the others refuse it. */
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
      // From when on requests are refused, however long the refusal takes: the node may have to look the key up first.
      record(paths, from, to, refused.sentAtMs - deletedAtMs);
    });
    if ((await from.verify(key)).outcome === 'valid') admittedWhereDeleted++;
    await Promise.all(others);
  });
  return { paths, latestAdmittedMs: greatest(admittedMs), admittedWhereDeleted };
}
