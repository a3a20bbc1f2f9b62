import { type Lab, LONG_WINDOW_MS } from './lab.ts';
import { inRows, type Path, pathsBetween, record, whenSeen } from './paths.ts';
import { scaled } from './statistics.ts';

const LIMIT = 1_000_000;
const ROWS = 2;
/** Trials in each row. */
const TRIALS = 15;

/** Measures how long the other regions take to count a request that one region has admitted under a local limit. */
export async function measureConvergence(lab: Lab, scale: number): Promise<Path[]> {
  const { regions } = lab;
  const paths = pathsBetween(regions);
  const limit = { async: true, limit: LIMIT, duration: LONG_WINDOW_MS };
  const keys = new Map(
    await Promise.all(regions.map(async (region) => [region, await lab.createKeys(ROWS, limit)] as const)),
  );
  await inRows(regions, ROWS, scaled(TRIALS, scale, 2), async (from, row, number) => {
    const key = keys.get(from)?.[row]?.key ?? '';
    const { answeredAtMs: admittedAtMs } = await from.verify(key);
    const expected = LIMIT - (number + 1);
    const watch = regions.filter((region) => region !== from);
    await Promise.all(
      watch.map(async (to) => {
        const seen = await whenSeen(
          () => to.peek(key),
          ({ limit: counted }) => counted !== null && counted.remaining <= expected,
        );
        record(paths, from, to, seen.answeredAtMs - admittedAtMs);
      }),
    );
  });
  return paths;
}
