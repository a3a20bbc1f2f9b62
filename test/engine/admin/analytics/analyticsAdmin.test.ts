import { expect, test } from 'bun:test';

import { SharedAnswers } from '../../../../src/engine/admin/analytics.ts';

const SHARING = { leastMs: 100, mostMs: 4_000 };

/** Counts how often it was really asked, on a clock of its own. */
function asker() {
  const state = { nowMs: 1_000, asked: 0 };
  const shared = new SharedAnswers<number>(() => state.nowMs);
  const ask = (question = 'one', tookMs = 0) =>
    shared.get(question, SHARING, async () => {
      state.nowMs += tookMs;
      return ++state.asked;
    });
  return { state, shared, ask };
}

test('an answer is shared for its time by those who ask the same', async () => {
  const { state, ask } = asker();
  expect(await Promise.all([ask(), ask(), ask('other')])).toEqual([1, 1, 2]);
  state.nowMs += 99;
  expect(await ask()).toBe(1);
  state.nowMs += 1;
  expect(await ask()).toBe(3);
});

test('an answer is not shared when the clock went back', async () => {
  const { state, ask } = asker();
  expect(await ask()).toBe(1);
  state.nowMs -= 1;
  expect(await ask()).toBe(2);
});

test('an answer that took long is shared for a hundred times as long, and not beyond the most', async () => {
  const { state, ask } = asker();
  const fromMs = state.nowMs;
  expect(await ask('slow', 30)).toBe(1);
  state.nowMs = fromMs + 2_999;
  expect(await ask('slow')).toBe(1);
  state.nowMs = fromMs + 3_000;
  expect(await ask('slow')).toBe(2);
  const againMs = state.nowMs + 100;
  state.nowMs = againMs;
  expect(await ask('slow', 500)).toBe(3);
  state.nowMs = againMs + 3_999;
  expect(await ask('slow')).toBe(3);
  state.nowMs = againMs + 4_000;
  expect(await ask('slow')).toBe(4);
});

test('an answer that never comes holds up those who ask later no longer than the most', async () => {
  const { state, shared, ask } = asker();
  void shared.get('one', SHARING, () => new Promise(() => {}));
  state.nowMs += 4_000;
  expect(await ask()).toBe(1);
});

test('an answer that failed is not shared, and takes no newer one away', async () => {
  const { state, shared, ask } = asker();
  const fail = Promise.withResolvers<number>();
  const failing = shared.get('one', SHARING, () => fail.promise);
  state.nowMs += 4_000;
  expect(await ask()).toBe(1);
  fail.reject(new Error('no'));
  expect(await failing.catch((error: unknown) => error)).toEqual(new Error('no'));
  expect(await ask()).toBe(1);
  state.nowMs += 100;
  const wrong = shared.get('one', SHARING, () => Promise.reject(new Error('wrong')));
  expect(await wrong.catch((error: unknown) => error)).toEqual(new Error('wrong'));
  expect(await ask()).toBe(2);
});
