import { describe, expect, test } from 'bun:test';

import { StorageOutcomeUnknown, StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { keyIdOf, AnalyticsSetup } from '../../support/analytics.ts';
import { analyticsTasks, SLICE } from '../../../src/engine/analytics/writeCounts.ts';
import type { Task } from '../../../src/storage/port/tasks.ts';

/** A setup in which so many packed keys were valid once. */
function counted(keys: number): AnalyticsSetup {
  const setup = new AnalyticsSetup();
  for (let number = 0; number < keys; number++) setup.verify(setup.pack(number));
  return setup;
}

const totalOf = (setup: AnalyticsSetup): number =>
  [...setup.analytics.sums.values()].reduce((sum, [valid = 0]) => sum + valid, 0);

describe('writing counts down', () => {
  test('goes in slices under growing numbers; where nothing was counted, nothing is written', async () => {
    const setup = counted(120);
    await setup.writing.flush();
    await setup.writing.flush();
    expect(setup.analytics.batches).toEqual([
      { batch: 1, size: 50 },
      { batch: 2, size: 50 },
      { batch: 3, size: 20 },
    ]);
    expect(totalOf(setup)).toBe(120);
  });

  test('for an open dashboard, only while one slice is enough: more of them would make verifications slower', async () => {
    for (const [keys, written] of [
      [50, 50],
      [51, 0],
    ] as const) {
      const setup = counted(keys);
      await setup.writing.flushFew();
      expect(totalOf(setup)).toBe(written);
    }
  });

  test('a slice that was refused is kept and sent again as it is; what is counted meanwhile goes in another', async () => {
    const setup = counted(1);
    setup.analytics.fates = ['refused', 'refused'];
    for (let n = 0; n < 2; n++) {
      expect(await setup.writing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
      setup.verify(setup.pack(0));
    }
    await setup.writing.flush();
    expect(setup.analytics.batches.map(({ batch }) => batch)).toEqual([1, 1, 1, 2]);
    expect(setup.written()).toEqual([`12:00 api_1 ${keyIdOf(0)}: 3`]);
  });

  test('a slice whose fate is not known is sent again under its number, and added once', async () => {
    for (const fate of ['added in silence', 'lost'] as const) {
      const setup = counted(3);
      setup.analytics.fates = [fate];
      expect(await setup.writing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageOutcomeUnknown);
      await setup.writing.flush();
      expect(setup.analytics.batches.map(({ batch }) => batch)).toEqual([1, 1]);
      expect(totalOf(setup)).toBe(3);
    }
  });

  test('whether apis exist cannot be asked: nothing is lost, and the next try asks again', async () => {
    const setup = new AnalyticsSetup();
    setup.verify(null, { apiId: 'api_1' });
    const { apis } = setup;
    const has = apis.has.bind(apis);
    apis.has = () => {
      throw new StorageUnavailable('away');
    };
    expect(await setup.writing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
    apis.has = has;
    await setup.writing.flush();
    expect([setup.written(), setup.lookups.length]).toEqual([['12:00 api_1: 0,1'], 2]);
  });

  test('all that was counted before the call is written when it returns, also beside one that takes its time', async () => {
    const setup = counted(300);
    const released = Promise.withResolvers<void>();
    const slow = setup.writing.flush(() => released.promise);
    for (let turn = 0; turn < 10 && setup.analytics.batches.length === 0; turn++) await Promise.resolve();
    for (let number = 0; number < 300; number++) setup.verify(setup.pack(number));
    await setup.writing.flush();
    expect(totalOf(setup)).toBe(600);
    released.resolve();
    await slow;
    expect(totalOf(setup)).toBe(600);
  });

  test('keys that are dropped while it goes on are among what is written', async () => {
    const setup = counted(300);
    await setup.writing.flush(async () => setup.packed.clear());
    expect(totalOf(setup)).toBe(300);
  });

  test('one slice is on its way at a time, however many wait', async () => {
    const setup = counted(200);
    let underWay = 0;
    let most = 0;
    const add = setup.analytics.add.bind(setup.analytics);
    setup.analytics.add = async (added, batch) => {
      most = Math.max(most, ++underWay);
      await add(added, batch);
      underWay--;
    };
    await Promise.all(Array.from({ length: 10 }, () => setup.writing.flush()));
    expect([most, totalOf(setup)]).toEqual([1, 200]);
  });

  test('it ends although counting goes on', async () => {
    const setup = counted(100);
    const keys = Array.from({ length: 100 }, (_, number) => setup.pack(number));
    const add = setup.analytics.add.bind(setup.analytics);
    setup.analytics.add = (added, batch) => {
      for (const key of keys) setup.verify(key);
      return add(added, batch);
    };
    await setup.writing.flush();
    expect(setup.analytics.batches.length).toBeLessThanOrEqual(6);
  });

  test('between two slices it rests, after the last one it does not', async () => {
    const setup = counted(120);
    let rests = 0;
    await setup.writing.flush(async () => void rests++);
    expect(rests).toBe(2);
  });

  test('what is taken to be written is not added to any more', async () => {
    const setup = new AnalyticsSetup();
    const [packed, kept] = [setup.pack(1), setup.keep(2)];
    const add = setup.analytics.add.bind(setup.analytics);
    setup.analytics.add = (added, batch) => {
      const before = added.rows();
      for (const key of [packed, kept]) for (const tags of [null, ['a']]) setup.verify(key, { tags });
      expect(added.rows()).toEqual(before);
      return add(added, batch);
    };
    for (const key of [packed, kept]) for (const tags of [null, ['a']]) setup.verify(key, { tags });
    await setup.writing.flush();
    setup.analytics.add = add;
    await setup.writing.flush();
    expect(totalOf(setup)).toBe(4 + 4 * (setup.analytics.batches.length - 1));
  });

  test('what is written down is brought into the sums step by step, with rests between them', async () => {
    const setup = new AnalyticsSetup();
    let rests = 0;
    await setup.writing.fold(async () => ++rests > 0);
    expect([setup.analytics.folds, rests]).toEqual([2, 1]);
  });

  test('what is done in steps ends after a step when it is told to', async () => {
    const setup = new AnalyticsSetup();
    await setup.writing.fold(async () => false);
    await setup.writing.prune(10_000, async () => false);
    expect([setup.analytics.folds, setup.analytics.pruned, setup.analytics.usesLookedAfter]).toEqual([
      1,
      [['minute', 9_000]],
      [],
    ]);
  });

  test('last uses of keys that are gone are removed a part at a time, all around', async () => {
    const setup = new AnalyticsSetup();
    for (let n = 0; n < 3; n++) await setup.writing.prune(10_000);
    expect(setup.analytics.usesLookedAfter).toEqual([null, 'key_1', null]);
  });

  test('old counts are removed step by step, each span after its own time', async () => {
    const setup = new AnalyticsSetup();
    let rests = 0;
    await setup.writing.prune(10_000, async () => ++rests > 0);
    expect(setup.analytics.pruned).toEqual([
      ['minute', 9_000],
      ['minute', 9_000],
      ['hour', 8_000],
      ['hour', 8_000],
      ['day', 7_000],
      ['day', 7_000],
    ]);
    expect(rests).toBe(3);
  });
});

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
