import type { Region, Verdict } from './region.ts';

/** How long something that was done in one region took to be seen in another, in each trial. */
export interface Path {
  readonly from: string;
  readonly to: string;
  readonly timesMs: number[];
}

/** How often the other regions are asked: times are that coarse. */
const POLL_MS = 5;
/** Who has seen nothing until then never will. */
const PATIENCE_MS = 15_000;
/** Trials begin at any moment of the nodes' own rhythms. */
const REST_MS = 250;

/** From every region to every other. */
export function pathsBetween(regions: readonly Region[]): Path[] {
  return regions.flatMap((from) =>
    regions.filter((to) => to !== from).map((to) => ({ from: from.name, to: to.name, timesMs: [] })),
  );
}

export function record(paths: readonly Path[], from: Region, to: Region, timeMs: number): void {
  paths.find((path) => path.from === from.name && path.to === to.name)?.timesMs.push(timeMs);
}

/** Asks again and again; answers the first verdict in which it is seen. */
export async function whenSeen(ask: () => Promise<Verdict>, isSeen: (verdict: Verdict) => boolean): Promise<Verdict> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const verdict = await ask();
    if (isSeen(verdict)) return verdict;
    if (performance.now() > untilMs) {
      throw new Error(`what one region did was not seen in another for ${PATIENCE_MS / 1000} s`);
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Rows of trials, side by side in every region; the trials of a row one after the other. */
export async function inRows(
  regions: readonly Region[],
  rows: number,
  trials: number,
  trial: (from: Region, row: number, number: number) => Promise<void>,
): Promise<void> {
  const runRow = async (from: Region, row: number): Promise<void> => {
    for (let number = 0; number < trials; number++) {
      await Bun.sleep(REST_MS * Math.random());
      await trial(from, row, number);
    }
  };
  await Promise.all(regions.flatMap((from) => Array.from({ length: rows }, (_, row) => runRow(from, row))));
}
