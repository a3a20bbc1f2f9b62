import { describe, expect, test } from 'bun:test';

import { LocalLimits, type LocalCharge, runningWindows, used } from '../../../src/engine/local/localLimits.ts';
import type { LocalCount, LoadedCount } from '../../../src/storage/port/storage.ts';
import { VirtualClock } from '../../support/clock.ts';

const DURATION_MS = 2_000;
const HOUR_MS = 3_600_000;
const LIMIT = 50;
/** In the middle of a window that ends at 11,000,000. */
const NOW_MS = 10_999_000;
const END_MS = 11_000_000;

/** Counts as a database keeps them, and what it answers. */
class Counts {
  isShared = true;
  saved: LocalCount[] = [];
  loaded: LoadedCount[] = [];
  sums: LocalCount[] = [];

  async load(): Promise<readonly LoadedCount[]> {
    return this.loaded;
  }

  async sync(counts: readonly LocalCount[]): Promise<readonly LocalCount[]> {
    this.saved.push(...counts);
    return this.sums.splice(0);
  }

  onForgotten(): void {}
}

const counted = (count: number, resetAtMs: number): LocalCount => ({
  owner: 'key_1',
  name: 'default',
  durationMs: DURATION_MS,
  count,
  resetAtMs,
});

async function start(loaded: readonly LoadedCount[] = []) {
  const counts = new Counts();
  counts.loaded = [...loaded];
  const clock = new VirtualClock(NOW_MS);
  const localLimits = new LocalLimits(counts, { nowMs: clock.nowMs, maxOwners: 10 });
  await localLimits.load('key_1', clock.nowMs());
  const charge = (cost = 1, name = 'default', isAdHoc = false): LocalCharge => {
    const owner = localLimits.owner('key_1');
    if (owner === undefined) throw new Error('it is not loaded');
    const window = localLimits.window(owner, { name, durationMs: DURATION_MS, isAdHoc }, clock.nowMs());
    return { window, limit: LIMIT, cost, resetAtMs: window.resetAtMs };
  };
  return { counts, clock, localLimits, charge };
}

describe('a local window that a clock ahead has made', () => {
  test('ends with the running one when the clock is back, and keeps its count until then', async () => {
    const { clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    localLimits.admit(charge(30));
    expect(charge().resetAtMs).toBe(END_MS + HOUR_MS);
    clock.advance(-HOUR_MS);
    expect([charge().resetAtMs, localLimits.left(charge())]).toEqual([END_MS, LIMIT - 30]);
    localLimits.admit(charge(20));
    expect(localLimits.allows(charge())).toBe(false);
    clock.set(END_MS - 1);
    expect(localLimits.allows(charge())).toBe(false);
    clock.set(END_MS);
    expect([charge().resetAtMs, localLimits.left(charge())]).toEqual([END_MS + DURATION_MS, LIMIT]);
  });

  test('does not open the window again that ran before the clock went ahead', async () => {
    const { clock, localLimits, charge } = await start();
    localLimits.admit(charge(LIMIT));
    for (let i = 0; i < 3; i++) {
      clock.advance(HOUR_MS);
      localLimits.admit(charge());
      clock.advance(-HOUR_MS);
      expect([charge().resetAtMs, localLimits.allows(charge())]).toEqual([END_MS, false]);
    }
    expect(charge().window.admitted).toBe(LIMIT + 3);
  });

  test('is the running one when the clock is set back without having been ahead: its count stands until the end of that', async () => {
    const { clock, localLimits, charge } = await start();
    localLimits.admit(charge(LIMIT));
    clock.set(END_MS - DURATION_MS - 1);
    expect([charge().resetAtMs, localLimits.allows(charge())]).toEqual([END_MS - DURATION_MS, false]);
    clock.set(500);
    expect([charge().resetAtMs, localLimits.allows(charge())]).toEqual([DURATION_MS, false]);
    clock.set(DURATION_MS);
    expect(localLimits.left(charge())).toBe(LIMIT);
  });

  test('of which the whole is left within the duration is left as it is', async () => {
    const { clock, localLimits, charge } = await start();
    localLimits.admit(charge(LIMIT));
    clock.set(END_MS - DURATION_MS);
    expect([charge().resetAtMs, charge().window.isUnsaved, localLimits.unsavedSize]).toEqual([END_MS, true, 1]);
  });

  test('counts what was held as admitted: whether it was taken is never told to this window', async () => {
    const { clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    const [taken, refused] = [charge(3), charge(4)];
    localLimits.hold(taken);
    localLimits.hold(refused);
    clock.advance(-HOUR_MS);
    expect(localLimits.left(charge())).toBe(LIMIT - 7);
    localLimits.endHold(taken, true);
    localLimits.endHold(refused, false);
    expect([localLimits.left(charge()), charge().window.held]).toEqual([LIMIT - 7, 0]);
  });

  test('never gives more than the limit for a hold that was made before the clock went ahead', async () => {
    const { clock, localLimits, charge } = await start();
    const held = charge(5);
    localLimits.hold(held);
    clock.advance(HOUR_MS);
    charge();
    clock.advance(-HOUR_MS);
    charge();
    localLimits.endHold(held, true);
    expect([localLimits.left(charge()), charge().window.held]).toEqual([LIMIT - 5, 0]);
  });
});

describe('a local window that ends too late', () => {
  test('is saved with the end of the running one, and not again', async () => {
    const { counts, clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    localLimits.admit(charge(30));
    clock.advance(-HOUR_MS);
    await localLimits.sync();
    expect(counts.saved).toEqual([counted(30, END_MS)]);
    charge();
    expect(localLimits.unsavedSize).toBe(0);
  });

  test('and was saved so is saved again as soon as it is seen', async () => {
    const { counts, clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    localLimits.admit(charge(30));
    await localLimits.sync();
    clock.advance(-HOUR_MS);
    charge();
    await localLimits.sync();
    expect(counts.saved).toEqual([counted(30, END_MS + HOUR_MS), counted(30, END_MS)]);
  });

  test('is loaded with the end of the running one, and with what others have counted in it', async () => {
    const { localLimits, charge } = await start([
      { ...counted(0, END_MS - DURATION_MS), others: 17 },
      { ...counted(3, END_MS), others: 4 },
      { ...counted(20, END_MS + HOUR_MS), others: 2 },
    ]);
    expect([charge().resetAtMs, localLimits.left(charge())]).toEqual([END_MS, LIMIT - 29]);
    expect(charge().window).toMatchObject({ admitted: 23, others: 6 });
  });

  test('is forgotten when the running one has ended', async () => {
    const { clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    charge(0);
    clock.advance(-HOUR_MS);
    localLimits.forgetEnded(NOW_MS, 1);
    expect(localLimits.owner('key_1')).toBeDefined();
    clock.set(END_MS);
    localLimits.forgetEnded(END_MS, 2);
    expect(localLimits.owner('key_1')).toBeUndefined();
  });

  test('and is an ad-hoc one makes place for others when the running one has ended', async () => {
    const { clock, charge } = await start();
    clock.advance(HOUR_MS);
    for (let i = 0; i < 100; i++) charge(0, `n${i}`, true);
    clock.advance(-HOUR_MS);
    expect(() => charge(0, 'one more', true)).toThrow('There are 100 live ad-hoc limits already');
    clock.set(END_MS);
    expect(charge(0, 'one more', true).resetAtMs).toBe(END_MS + DURATION_MS);
  });
});

describe('what other nodes have counted in a window that ends too late', () => {
  test('counts in the running one, and does not hide what they count after it', async () => {
    const { counts, clock, localLimits, charge } = await start();
    charge();
    counts.sums = [counted(30, END_MS + HOUR_MS)];
    await localLimits.sync();
    expect(localLimits.left(charge())).toBe(LIMIT - 30);
    clock.set(END_MS);
    expect(localLimits.left(charge())).toBe(LIMIT);
    counts.sums = [counted(7, END_MS + DURATION_MS)];
    await localLimits.sync();
    expect(localLimits.left(charge())).toBe(LIMIT - 7);
  });

  test('and in one of this node that does so too counts in the running one with it', async () => {
    const { counts, clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    localLimits.admit(charge(10));
    counts.sums = [counted(20, END_MS + HOUR_MS)];
    await localLimits.sync();
    expect(localLimits.left(charge())).toBe(LIMIT - 30);
    clock.advance(-HOUR_MS);
    expect(localLimits.left(charge())).toBe(LIMIT - 30);
    counts.sums = [counted(25, END_MS)];
    await localLimits.sync();
    expect(localLimits.left(charge())).toBe(LIMIT - 35);
  });

  test('is learnt although this node has not touched its own since the clock is back', async () => {
    const { counts, clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    charge();
    counts.sums = [counted(20, END_MS + HOUR_MS)];
    await localLimits.sync();
    clock.advance(-HOUR_MS);
    counts.sums = [counted(40, END_MS)];
    await localLimits.sync();
    expect(localLimits.left(charge())).toBe(LIMIT - 40);
  });

  test.each([
    [1_000, LIMIT, LIMIT - 30],
    [1_001, LIMIT - 30, LIMIT],
  ])(
    'is the next window, %p ms before it begins: a clock of another node may be a second ahead',
    async (beforeMs, leftNow, leftThen) => {
      const { counts, clock, localLimits, charge } = await start();
      clock.set(END_MS - beforeMs);
      charge();
      counts.sums = [counted(30, END_MS + DURATION_MS)];
      await localLimits.sync();
      expect(localLimits.left(charge())).toBe(leftNow);
      clock.set(END_MS);
      expect(localLimits.left(charge())).toBe(leftThen);
    },
  );
});

test.each([false, true])(
  'of two ends that were saved the running one counts, whichever is read first (%p)',
  (isReversed) => {
    const [durationMs, endMs] = [60_000, 600_000];
    const row = { owner: 'key_1', name: 'default', durationMs, count: 0 };
    const rows = [
      { ...row, resetAtMs: endMs, others: 40 },
      { ...row, resetAtMs: endMs + durationMs, others: 3 },
    ];
    // Another node is a little ahead: its next window has begun.
    const [window] = runningWindows(isReversed ? rows.toReversed() : rows, endMs - 500);
    expect(window === undefined ? undefined : used(window)).toBe(40);
  },
);
