import { describe, expect, test } from 'bun:test';

import { SECOND_MS, make, ownerIn, chargeOf, codeOf } from './countedLimits.ts';

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

  test('what is held counts against the limit, and is given back by a refusal', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    const [one, two] = [chargeOf(localLimits, 5_000), chargeOf(localLimits, 5_000, { cost: 2 })];
    localLimits.hold(one);
    localLimits.hold(two);
    expect([localLimits.allows(chargeOf(localLimits, 5_000)), localLimits.left(one)]).toEqual([false, 0]);
    localLimits.endHold(two, false);
    expect([localLimits.allows(chargeOf(localLimits, 5_000)), localLimits.left(one)]).toEqual([true, 2]);
    localLimits.endHold(one, true);
    expect(localLimits.left(one)).toBe(2);
    expect(localLimits.allows(chargeOf(localLimits, 5_000, { cost: 3 }))).toBe(false);
  });

  test('a hold stays with its window: settled after the roll it neither counts nor frees anything in the new one', async () => {
    const { localLimits } = make();
    await localLimits.load('key_1', 5_000);
    const [taken, refused] = [chargeOf(localLimits, 5_900), chargeOf(localLimits, 5_900)];
    localLimits.hold(taken);
    localLimits.hold(refused);
    const next = chargeOf(localLimits, 6_000);
    expect(localLimits.left(next)).toBe(3);
    localLimits.hold(next);
    localLimits.endHold(taken, true);
    localLimits.endHold(refused, false);
    expect(localLimits.left(next)).toBe(2);
    localLimits.endHold(next, true);
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
