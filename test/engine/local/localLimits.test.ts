import { describe, expect, test } from 'bun:test';

import { SECOND_MS, make, ownerIn, chargeOf, codeOf, localLimitsOn } from './countedLimits.ts';
import {
  LocalLimits,
  LocalCountSaving,
  type LocalCharge,
  runningWindows,
  used,
} from '../../../src/engine/localLimits.ts';
import type { LocalCount, LoadedCount } from '../../../src/storage/port/storage.ts';
import { VirtualClock } from '../../support/clock.ts';

describe('local windows', () => {
  test('admit up to the limit, refuse the next until the window rolls, to the millisecond', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    for (let left = 2; left >= 0; left--) {
      const charge = chargeOf(localLimits, 5_100);
      expect(localLimits.allows(charge)).toBe(true);
      localLimits.admit(charge);
      expect(localLimits.left(charge)).toBe(left);
    }
    expect(localLimits.allows(chargeOf(localLimits, 5_999))).toBe(false);
    expect(localLimits.allows(chargeOf(localLimits, 5_999, { cost: 0 }))).toBe(true);
    expect(localLimits.allows(chargeOf(localLimits, 5_999, { cost: 0, limit: 2 }))).toBe(false);
    expect(chargeOf(localLimits, 6_000).resetAtMs).toBe(7_000);
    expect(localLimits.allows(chargeOf(localLimits, 6_000))).toBe(true);
  });

  test('who waits for something to save is told with the first count, and waits anew when all is saved', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    const told: string[] = [];
    const wait = (name: string): void => void localLimits.untilUnsaved().then(() => told.push(name));
    const turn = (): Promise<void> => new Promise((go) => setImmediate(go));
    wait('first');
    localLimits.admit(chargeOf(localLimits, 5_100, { cost: 0 }));
    await turn();
    expect(told).toEqual([]);
    localLimits.admit(chargeOf(localLimits, 5_100));
    await turn();
    expect(told).toEqual(['first']);
    // Not saved yet: there is nothing to wait for.
    wait('second');
    await turn();
    expect(told).toEqual(['first', 'second']);
    await localLimits.sync();
    wait('third');
    await turn();
    expect(told).toEqual(['first', 'second']);
    localLimits.admit(chargeOf(localLimits, 5_100));
    await turn();
    expect(told).toEqual(['first', 'second', 'third']);
  });

  test('what is pending counts against the limit, and is given back by a refusal', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    const [one, two] = [chargeOf(localLimits, 5_000), chargeOf(localLimits, 5_000, { cost: 2 })];
    localLimits.beginPending(one);
    localLimits.beginPending(two);
    expect([localLimits.allows(chargeOf(localLimits, 5_000)), localLimits.left(one)]).toEqual([false, 0]);
    localLimits.endPending(two, false);
    expect([localLimits.allows(chargeOf(localLimits, 5_000)), localLimits.left(one)]).toEqual([true, 2]);
    localLimits.endPending(one, true);
    expect(localLimits.left(one)).toBe(2);
    expect(localLimits.allows(chargeOf(localLimits, 5_000, { cost: 3 }))).toBe(false);
  });

  test('a hold stays with its window: settled after the roll it neither counts nor frees anything in the new one', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    const [taken, refused] = [chargeOf(localLimits, 5_900), chargeOf(localLimits, 5_900)];
    localLimits.beginPending(taken);
    localLimits.beginPending(refused);
    const next = chargeOf(localLimits, 6_000);
    expect(localLimits.left(next)).toBe(3);
    localLimits.beginPending(next);
    localLimits.endPending(taken, true);
    localLimits.endPending(refused, false);
    expect(localLimits.left(next)).toBe(2);
    localLimits.endPending(next, true);
    expect(localLimits.left(next)).toBe(2);
  });

  test('names and durations are counted apart', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 3 }));
    expect(localLimits.allows(chargeOf(localLimits, 5_000, { name: 'other' }))).toBe(true);
    expect(
      localLimits.window(ownerIn(localLimits), { name: 'default', durationMs: 2 * SECOND_MS, isAdHoc: false }, 5_000),
    ).toMatchObject({ admitted: 0, resetAtMs: 6_000 });
  });

  test('one owner has at most 100 live ad-hoc windows beside its configured ones; ended ones make room', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    for (let i = 0; i < 51; i++) chargeOf(localLimits, 5_000, { name: `configured ${i}` });
    for (let i = 0; i < 100; i++) chargeOf(localLimits, 5_000, { name: `n${i}`, isAdHoc: true });
    const oneMore = { name: 'one more', isAdHoc: true };
    expect(() => chargeOf(localLimits, 5_000, oneMore)).toThrow('There are 100 live ad-hoc limits already');
    expect(chargeOf(localLimits, 5_000, { name: 'n99', isAdHoc: true }).resetAtMs).toBe(6_000);
    expect(chargeOf(localLimits, 6_000, oneMore).resetAtMs).toBe(7_000);
  });
});

describe('owners', () => {
  test('are read once, however many wait, and not again', async () => {
    const { localLimits, saved } = make();
    await Promise.all(Array.from({ length: 50 }, () => localLimits.load('key_1', 5_000)));
    await localLimits.load('key_1', 5_000);
    expect([saved.loads, localLimits.owner('key_1') !== undefined, localLimits.owner('key_2') !== undefined]).toEqual([
      1,
      true,
      false,
    ]);
  });

  test('are as many as allowed: one more is refused, those that are counted go on', async () => {
    const { localLimits } = make(2);
    for (const owner of ['a', 'b']) {
      await localLimits.load(owner, 5_000);
      localLimits.window(ownerIn(localLimits, owner), { name: 'x', durationMs: SECOND_MS, isAdHoc: false }, 5_000);
    }
    expect(await codeOf(localLimits.load('c', 5_000))).toBe('UNAVAILABLE');
    expect(await codeOf(localLimits.load('a', 5_000))).toBeNull();
    expect(await codeOf(localLimits.load('c', 6_000))).toBeNull();
  });

  test('are no more than allowed when many come at the same time', async () => {
    const { localLimits } = make(2);
    const codes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((owner) => codeOf(localLimits.load(owner, 5_000))));
    expect(codes.filter((code) => code === null).length).toBe(2);
    expect(codes.filter((code) => code === 'UNAVAILABLE').length).toBe(3);
  });

  test('make room when their windows have ended, wherever the walk over them stands', async () => {
    for (const steps of [0, 1, 2, 3]) {
      const { localLimits } = make(2);
      for (const owner of ['a', 'b']) {
        await localLimits.load(owner, 5_000);
        localLimits.window(ownerIn(localLimits, owner), { name: 'x', durationMs: SECOND_MS, isAdHoc: false }, 5_000);
      }
      localLimits.forgetEnded(5_000, steps);
      expect([steps, await codeOf(localLimits.load('c', 6_000))]).toEqual([steps, null]);
    }
  });

  test('whose count is not saved yet are not forgotten', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000));
    localLimits.forgetEnded(6_000, 10);
    expect(localLimits.owner('key_1') !== undefined).toBe(true);
    await localLimits.sync();
    localLimits.forgetEnded(6_000, 10);
    localLimits.forgetEnded(6_000, 10);
    expect([localLimits.owner('key_1') !== undefined, saved.rows.size]).toEqual([false, 1]);
  });
});

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

  test('counts what was pending as admitted: whether it was taken is never told to this window', async () => {
    const { clock, localLimits, charge } = await start();
    clock.advance(HOUR_MS);
    const [taken, refused] = [charge(3), charge(4)];
    localLimits.beginPending(taken);
    localLimits.beginPending(refused);
    clock.advance(-HOUR_MS);
    expect(localLimits.left(charge())).toBe(LIMIT - 7);
    localLimits.endPending(taken, true);
    localLimits.endPending(refused, false);
    expect([localLimits.left(charge()), charge().window.pending]).toEqual([LIMIT - 7, 0]);
  });

  test('never gives more than the limit for a hold that was made before the clock went ahead', async () => {
    const { clock, localLimits, charge } = await start();
    const pending = charge(5);
    localLimits.beginPending(pending);
    clock.advance(HOUR_MS);
    charge();
    clock.advance(-HOUR_MS);
    charge();
    localLimits.endPending(pending, true);
    expect([localLimits.left(charge()), charge().window.pending]).toEqual([LIMIT - 5, 0]);
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

describe('saving local counts', () => {
  test('writes what was admitted since the last time, and nothing that is only pending', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 2 }));
    localLimits.beginPending(chargeOf(localLimits, 5_000));
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 0, name: 'peeked' }));
    expect(localLimits.unsavedSize).toBe(1);
    await localLimits.sync();
    expect([...saved.rows.values()]).toEqual([
      { owner: 'key_1', name: 'default', durationMs: SECOND_MS, count: 2, resetAtMs: 6_000 },
    ]);
    expect([saved.saves, localLimits.unsavedSize]).toEqual([[1], 0]);
  });

  test('a save that fails is made up for by the next', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000));
    saved.failing = true;
    expect(await codeOf(localLimits.sync())).toBe('Error: no space');
    localLimits.admit(chargeOf(localLimits, 5_000));
    saved.failing = false;
    await localLimits.sync();
    expect([...saved.rows.values()]).toMatchObject([{ count: 2 }]);
  });

  test('many are written in slices of at most 1,000', async () => {
    const { localLimits, saved } = make(3_000);
    for (let i = 0; i < 2_500; i++) {
      await localLimits.load(`key_${i}`, 5_000);
      const window = localLimits.window(
        ownerIn(localLimits, `key_${i}`),
        { name: 'a', durationMs: SECOND_MS, isAdHoc: false },
        5_000,
      );
      localLimits.admit({ window, limit: 3, cost: 1, resetAtMs: window.resetAtMs });
    }
    await localLimits.sync();
    expect([saved.saves, saved.rows.size]).toEqual([[1_000, 1_000, 500], 2_500]);
  });

  test('a new start goes on from what was saved in the running window, and from 0 in a later one', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 2 }));
    await localLimits.sync();
    const same = localLimitsOn(saved);
    await same.load('key_1', 5_999);
    expect(same.left(chargeOf(same, 5_999))).toBe(1);
    const later = localLimitsOn(saved);
    await later.load('key_1', 6_000);
    expect(later.left(chargeOf(later, 6_000))).toBe(3);
  });

  test('a hold of an ended window, settled after its owner was forgotten, leaves the saved count of the running one', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    const pending = chargeOf(localLimits, 5_900);
    localLimits.beginPending(pending);
    localLimits.forgetEnded(6_000, 10);
    await localLimits.load('key_1', 6_000);
    localLimits.admit(chargeOf(localLimits, 6_000, { cost: 3 }));
    localLimits.endPending(pending, true);
    await localLimits.sync();
    expect([...saved.rows.values()]).toMatchObject([{ count: 3, resetAtMs: 7_000 }]);
  });
});

describe('saving when names come back and saves are lost', () => {
  test('an ended ad-hoc window that made room is not saved, and its name is saved once when it is opened again', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    for (let i = 0; i < 100; i++) localLimits.admit(chargeOf(localLimits, 5_000, { name: `n${i}`, isAdHoc: true }));
    localLimits.admit(chargeOf(localLimits, 6_000, { name: 'one more', isAdHoc: true }));
    localLimits.admit(chargeOf(localLimits, 6_000, { name: 'n7', isAdHoc: true }));
    await localLimits.sync();
    expect([saved.saves, [...saved.rows.values()].map(({ name, resetAtMs }) => [name, resetAtMs])]).toEqual([
      [2],
      [
        ['one more', 7_000],
        ['n7', 7_000],
      ],
    ]);
  });

  test('an ended window that made room, but not enough, is not counted in any more', async () => {
    const { localLimits, saved } = make();
    const save = (name: string, durationMs: number, resetAtMs: number) =>
      saved.rows.set(name, { owner: 'key_1', name, durationMs, count: 1, resetAtMs });
    // More than may be made: those of configured limits are among them, which is seen when they are used.
    for (let i = 0; i < 120; i++) save(`n${i}`, 60 * SECOND_MS, 60_000);
    save('ended', SECOND_MS, 6_000);
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { name: 'ended', isAdHoc: true }));
    for (const name of ['one more', 'ended']) {
      expect(() => chargeOf(localLimits, 6_000, { name, isAdHoc: true })).toThrow(
        'There are 100 live ad-hoc limits already',
      );
    }
  });

  test('nothing is left of an owner that was forgotten, whoever still has it', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    chargeOf(localLimits, 5_000);
    const owner = ownerIn(localLimits);
    localLimits.forgetEnded(6_000, 1);
    expect(owner).toEqual({ id: 'key_1', windows: [], isForgotten: true });
  });

  test('what was saved and may be gone is saved again', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 2 }));
    await localLimits.sync();
    saved.rows.clear();
    saved.forgotten();
    await localLimits.sync();
    expect([...saved.rows.values()]).toMatchObject([{ count: 2, resetAtMs: 6_000 }]);
  });

  test('owners are kept while there is room, and forgotten when they have ended and it becomes scarce', async () => {
    const { localLimits } = make(3);
    await localLimits.load('key_1', 5_000);
    chargeOf(localLimits, 5_000);
    localLimits.tidy(9_000, 10);
    expect(localLimits.owner('key_1')).toBeDefined();
    await localLimits.load('key_2', 5_000);
    localLimits.tidy(9_000, 10);
    expect(localLimits.owner('key_1')).toBeUndefined();
  });

  test('where other nodes count too, an owner whose counts cannot be read begins at 0; alone it is refused', async () => {
    const { localLimits, saved } = make();
    saved.load = () => Promise.reject(new Error('away'));
    expect(await codeOf(localLimits.load('key_1', 5_000))).toBe('Error: away');
    saved.isShared = true;
    await localLimits.load('key_1', 5_000);
    expect(localLimits.left(chargeOf(localLimits, 5_000))).toBe(3);
  });
});

describe('what other nodes have counted', () => {
  const sum = (count: number, resetAtMs: number, owner = 'key_1'): LocalCount => ({
    owner,
    name: 'default',
    durationMs: SECOND_MS,
    count,
    resetAtMs,
  });

  async function learning(...sums: LocalCount[]): Promise<LocalLimits> {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    chargeOf(localLimits, 5_000);
    for (const each of sums) {
      saved.others = [each];
      await localLimits.sync();
    }
    return localLimits;
  }

  test('counts against the limit, and is not saved as one of our own', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000));
    saved.others = [sum(1, 6_000)];
    await localLimits.sync();
    expect(localLimits.left(chargeOf(localLimits, 5_000))).toBe(1);
    localLimits.admit(chargeOf(localLimits, 5_000));
    expect(localLimits.allows(chargeOf(localLimits, 5_000))).toBe(false);
    await localLimits.sync();
    expect([...saved.rows.values()]).toMatchObject([{ count: 2 }]);
  });

  test('only grows within a window: an answer that was overtaken takes nothing back', async () => {
    const localLimits = await learning(sum(2, 6_000), sum(1, 6_000));
    expect(localLimits.left(chargeOf(localLimits, 5_000))).toBe(1);
  });

  test('ends with its window', async () => {
    const localLimits = await learning(sum(3, 6_000));
    expect(localLimits.left(chargeOf(localLimits, 5_999))).toBe(0);
    expect(localLimits.left(chargeOf(localLimits, 6_000))).toBe(3);
  });

  test('of a node whose clock is ahead waits for the window it is about, and does not open the running one', async () => {
    const localLimits = await learning(sum(3, 7_000));
    expect(localLimits.left(chargeOf(localLimits, 5_999))).toBe(3);
    expect(localLimits.left(chargeOf(localLimits, 6_000))).toBe(0);
  });

  test('of an earlier window than the running one is too late', async () => {
    const localLimits = await learning(sum(2, 6_000), sum(3, 5_000));
    expect(localLimits.left(chargeOf(localLimits, 5_999))).toBe(1);
  });

  test.each([false, true])(
    'of the running window comes before one of the next, in either order (%p)',
    async (isLast) => {
      const sums = [sum(2, 6_000), sum(3, 7_000)];
      const localLimits = await learning(...(isLast ? sums.toReversed() : sums));
      expect(localLimits.left(chargeOf(localLimits, 5_999))).toBe(1);
    },
  );

  test('of owners that are not counted here is left alone', async () => {
    const localLimits = await learning(sum(3, 6_000, 'key_2'));
    expect([localLimits.left(chargeOf(localLimits, 5_000)), localLimits.owner('key_2')]).toEqual([3, undefined]);
  });
});

/** The task on a clock that only saves move: each takes so long. */
class SavingSetup {
  nowMs = 0;
  unsavedSize = 20_000;
  saveMs = 100;
  saves = 0;
  waits = 0;
  fails = false;
  isShared = false;
  readonly task = new LocalCountSaving({
    localLimits: this,
    localCounts: this,
    nowMs: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    wallClockMs: () => this.nowMs,
    everyMs: 1_000,
  });

  constructor(fields: Partial<SavingSetup> = {}) {
    Object.assign(this, fields);
  }

  tidy(): void {}

  async untilUnsaved(): Promise<void> {
    this.waits++;
  }

  async sync(): Promise<void> {
    this.nowMs += this.saveMs;
    if (this.fails) throw new Error('the disk is full');
    this.saves++;
  }

  async run(): Promise<void> {
    await this.task.run({ rest: async () => true, until: (event) => event });
  }

  /** How long after the start of a save the next one is made. */
  async cycleMs(): Promise<number> {
    const startedAtMs = this.nowMs;
    await this.run();
    for (this.saves = 0; this.saves === 0;) {
      this.nowMs += 10;
      await this.run();
    }
    return this.nowMs - this.saveMs - startedAtMs;
  }
}

describe('saving local counts', () => {
  test('on one machine takes a twentieth of the time, and begins every 20 s at the latest', async () => {
    expect(await new SavingSetup().cycleMs()).toBe(2_100);
    expect(await new SavingSetup({ saveMs: 5_000 }).cycleMs()).toBe(20_000);
  });

  test('on a shared database other nodes are told at every turn, however long it takes', async () => {
    expect(await new SavingSetup({ isShared: true, saveMs: 3_000 }).cycleMs()).toBe(3_010);
    expect(await new SavingSetup({ isShared: true, unsavedSize: 0 }).cycleMs()).toBe(110);
  });

  test('on one machine an idle process saves nothing and waits for a count', async () => {
    const setup = new SavingSetup({ unsavedSize: 0 });
    await setup.run();
    expect([setup.saves, setup.waits, setup.task.lagMs]).toEqual([0, 1, null]);
  });

  test('a save that failed is tried again after 5 s', async () => {
    const setup = new SavingSetup({ fails: true });
    expect(await setup.run().catch(String)).toContain('the disk is full');
    setup.fails = false;
    setup.nowMs += 4_999;
    await setup.run();
    expect(setup.saves).toBe(0);
    setup.nowMs += 1;
    await setup.run();
    expect(setup.saves).toBe(1);
  });
});
