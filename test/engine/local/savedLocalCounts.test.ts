import { describe, expect, test } from 'bun:test';

import { LocalLimits } from '../../../src/engine/local/localLimits.ts';
import type { LocalCount } from '../../../src/storage/port/storage.ts';
import { SECOND_MS, make, localLimitsOn, ownerIn, chargeOf, codeOf } from './countedLimits.ts';

describe('saving local counts', () => {
  test('writes what was admitted since the last time, and nothing that is only held', async () => {
    const { localLimits, saved } = make();
    await localLimits.load('key_1', 5_000);
    localLimits.admit(chargeOf(localLimits, 5_000, { cost: 2 }));
    localLimits.hold(chargeOf(localLimits, 5_000));
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
    const held = chargeOf(localLimits, 5_900);
    localLimits.hold(held);
    localLimits.forgetEnded(6_000, 10);
    await localLimits.load('key_1', 6_000);
    localLimits.admit(chargeOf(localLimits, 6_000, { cost: 3 }));
    localLimits.endHold(held, true);
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
