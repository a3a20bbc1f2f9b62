import { describe, expect, test } from 'bun:test';

import { analyticsTasks, SLICE } from '../../../src/engine/analytics/writeCounts.ts';
import type { Task } from '../../../src/storage/port/tasks.ts';

/** The tasks on a clock that only work and rests move; each piece of work takes so long. */
class TasksSetup {
  nowMs = 0;
  waiting = 0;
  steps = 0;
  rests: number[] = [];
  readonly pieces: number[];
  readonly #tasks: readonly Task[];

  constructor({ isShared = false, pieces = [0] }: { isShared?: boolean; pieces?: number[] } = {}) {
    this.pieces = pieces;
    this.#tasks = analyticsTasks({
      writing: {
        flush: async (pause) => {
          for (; this.waiting > 0; await pause?.(this.waiting)) this.#work(SLICE);
        },
        learnTags: async () => {},
        fold: async (pause) => {
          for (; this.steps > 1; await pause?.()) this.#work(0);
          this.#work(0);
        },
        prune: async () => {},
      },
      nowMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      isShared,
    });
  }

  async run(name: string): Promise<void> {
    const task = this.#tasks.find((each) => each.name === name);
    await task?.run({
      rest: async (milliseconds) => {
        this.rests.push(milliseconds);
        this.nowMs += milliseconds;
        return true;
      },
      until: async () => {},
    });
  }

  #work(counts: number): void {
    this.waiting = Math.max(0, this.waiting - counts);
    this.steps--;
    this.nowMs += this.pieces.length > 1 ? (this.pieces.shift() ?? 0) : (this.pieces[0] ?? 0);
  }
}

/** Seconds that writing so many counts takes. */
async function secondsToWrite(counts: number, pieces: number[] = [0]): Promise<number> {
  const setup = new TasksSetup({ pieces });
  setup.waiting = counts;
  await setup.run('saving analytics');
  return Math.round(setup.nowMs / 1_000);
}

describe('writing counts down', () => {
  test.each([
    [500, 0],
    [100_000, 6],
    [200_000, 15],
    [1_000_000, 228],
  ])('%d keys in use take %d seconds, as long as a slice takes less than its turn', async (counts, seconds) => {
    expect(await secondsToWrite(counts)).toBe(seconds);
    expect(await secondsToWrite(counts, [20])).toBe(seconds);
  });

  test('where a slice takes longer than its turn there is no rest', async () => {
    expect(await secondsToWrite(100_000, [50])).toBe(10);
  });

  test('slices that had to wait are made up for, but no more than 10 s of it', async () => {
    // Every tenth slice waits for a step of the fold.
    const waits = Array.from({ length: 200 }, (_, i) => (i % 10 === 0 ? 200 : 0));
    expect(await secondsToWrite(100_000, waits)).toBe(6);
    expect(await secondsToWrite(100_000, [3_000, 0])).toBe(6);
    expect(await secondsToWrite(1_000_000, [10_000, 0])).toBe(228);
    expect(await secondsToWrite(1_000_000, [60_000, 0])).toBe(278);
  });

  test('100,000 keys, one write that hangs for 10 s and the 4 s until the run: a crash loses at most 15 s', async () => {
    expect((await secondsToWrite(100_000, [10_000, 0])) + 4).toBeLessThanOrEqual(15);
  });
});

describe('folding', () => {
  test('on one machine steps take half of the time, and a round rests for thirty times as long', async () => {
    const setup = new TasksSetup({ pieces: [70] });
    setup.steps = 3;
    await setup.run('summing analytics');
    expect(setup.rests).toEqual([70, 70, 30 * (3 * 70 + 2 * 70)]);
  });

  test('a shared database gives a tenth of its time to the steps; from 40 s on, half of it', async () => {
    const setup = new TasksSetup({ isShared: true, pieces: [100] });
    setup.steps = 100;
    await setup.run('summing analytics');
    expect(setup.rests.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => 900));
    expect(setup.rests.slice(40, -1)).toEqual(Array.from({ length: 59 }, () => 100));
  });

  test.each([
    [false, 1_000, 30_000],
    [false, 40_000, 60_000],
    [false, 200_000, 200_000],
    [true, 1_000, 30_000],
    [true, 10_000, 70_000],
    [true, 50_000, 30_000],
    [true, 300_000, 75_000],
  ])('shared: %p; a round that took %d ms rests for %d ms', async (isShared, tookMs, restMs) => {
    const setup = new TasksSetup({ isShared, pieces: [tookMs] });
    setup.steps = 1;
    await setup.run('summing analytics');
    expect(setup.rests).toEqual([restMs]);
  });
});
