import { expect, test } from 'bun:test';

import { SharedAnswers } from '../../../src/engine/admin/analytics/sharedAnswers.ts';

test('an answer is shared for its time, by those who ask the same, and not when it failed or the clock went back', async () => {
  let nowMs = 1_000;
  let asked = 0;
  const shared = new SharedAnswers<number>(() => nowMs);
  const ask = (question = 'one') => shared.get(question, 100, async () => ++asked);
  expect(await Promise.all([ask(), ask(), ask('other')])).toEqual([1, 1, 2]);
  nowMs += 99;
  expect(await ask()).toBe(1);
  nowMs += 1;
  expect(await ask()).toBe(3);
  nowMs -= 500;
  expect(await ask()).toBe(4);
  const slow = async (): Promise<number> => {
    nowMs += 50;
    return ++asked;
  };
  expect(await shared.get('slow', 100, slow)).toBe(5);
  nowMs += 4_949;
  expect(await ask('slow')).toBe(5);
  nowMs += 1;
  expect(await ask('slow')).toBe(6);
  const failing = shared.get('wrong', 100, () => Promise.reject(new Error('no')));
  expect(await failing.catch((error: unknown) => error)).toEqual(new Error('no'));
  expect(await ask('wrong')).toBe(7);
});
