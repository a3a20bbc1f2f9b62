import type { Region, Verdict } from './region.ts';

/** The times after which something done in one region was visible in another, one for each trial. */
export interface Path {
  readonly from: string;
  readonly to: string;
  readonly timesMs: number[];
}

/** The interval between two checks of another region. It limits the precision of the times. */
const POLL_MS = 5;
/** After this time without a result, the measurement fails. */
const TIMEOUT_MS = 15_000;
/** The longest random pause before a trial, so that trials are not in step with the timers of the nodes. */
const MAX_PAUSE_MS = 250;

/** The paths from every region to every other. */
export function pathsBetween(regions: readonly Region[]): Path[] {
  return regions.flatMap((from) =>
    regions.filter((to) => to !== from).map((to) => ({ from: from.name, to: to.name, timesMs: [] })),
  );
}

export function record(paths: readonly Path[], from: Region, to: Region, timeMs: number): void {
  paths.find((path) => path.from === from.name && path.to === to.name)?.timesMs.push(timeMs);
}

/** Repeats `ask` until `isSeen` accepts the verdict, and returns that verdict. */
export async function whenSeen(ask: () => Promise<Verdict>, isSeen: (verdict: Verdict) => boolean): Promise<Verdict> {
  const untilMs = performance.now() + TIMEOUT_MS;
  for (;;) {
    const verdict = await ask();
    if (isSeen(verdict)) return verdict;
    if (performance.now() > untilMs) {
      throw new Error(`A change in one region was not visible in another within ${TIMEOUT_MS / 1000} s.`);
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Runs rows of trials. All rows of all regions run at the same time; the trials of a row run one after the other. */
export async function inRows(
  regions: readonly Region[],
  rows: number,
  trials: number,
  trial: (from: Region, row: number, number: number) => Promise<void>,
): Promise<void> {
  const runRow = async (from: Region, row: number): Promise<void> => {
    for (let number = 0; number < trials; number++) {
      await Bun.sleep(MAX_PAUSE_MS * Math.random());
      await trial(from, row, number);
    }
  };
  await Promise.all(regions.flatMap((from) => Array.from({ length: rows }, (_, row) => runRow(from, row))));
}
