import { expect, test } from 'bun:test';

import { Notices } from '../../../src/engine/alerts/notices.ts';
import type { KeyEntry } from '../../../src/engine/cache/entries.ts';
import type { Verdict } from '../../../src/engine/verify/verdict.ts';
import type { KeyRecord } from '../../../src/model/keys.ts';
import { CachedKeys } from '../../support/cachedKeys.ts';

const LIMIT = { name: 'a', limit: 1, durationMs: 60_000, async: true, account: null, notify: true } as const;

function entry(id: string, fields: Partial<KeyRecord> = {}): KeyEntry {
  return new CachedKeys().add({ id, limits: [LIMIT], credits: { account: 7, refill: null }, ...fields });
}

function verdict(key: KeyEntry, fields: Partial<Verdict>): Verdict {
  return { code: 'VALID', key, remaining: null, creditsTaken: 0, limits: null, replayed: false, atMs: 0, ...fields };
}

function refused(key: KeyEntry, resetAtMs: number): Verdict {
  const limits = (key.limits ?? []).map((limit) => ({ limit, remaining: 0, resetAtMs, exceeded: true }));
  return verdict(key, { code: 'RATE_LIMITED', limits });
}

test('sets that are full take no more, and one more when something was taken out', () => {
  const notices = new Notices(2);
  for (const id of ['key_1', 'key_2', 'key_3', 'key_2']) {
    notices.observe(verdict(entry(id), { remaining: 0 }));
    notices.observe(refused(entry(id), 60_000));
  }
  expect([notices.creditsSize, notices.limitsSize]).toEqual([2, 2]);
  const [first] = notices.takeCredits(1);
  expect([first?.owner, notices.takeLimits(1)[0]?.owner]).toEqual(['key_1', 'key_1']);
  notices.observe(verdict(entry('key_4'), { remaining: 0 }));
  // What could not be told comes back only where there is room.
  notices.putBackCredits(first === undefined ? [] : [first]);
  expect(notices.takeCredits(9).map(({ owner }) => owner)).toEqual(['key_2', 'key_4']);
});

test('the smallest balance and the last refusal of an owner are kept', () => {
  const notices = new Notices();
  const key = entry('key_1', { alerts: { creditsBelow: 10 } });
  notices.observe(verdict(key, { remaining: 10 }));
  expect(notices.creditsSize).toBe(0);
  notices.observe(verdict(key, { remaining: 9 }));
  notices.observe(verdict(key, { remaining: 3 }));
  notices.observe(verdict(key, { remaining: 5, code: 'USAGE_EXCEEDED' }));
  expect(notices.takeCredits(9)).toEqual([{ owner: 'key_1', account: 7, tellsBelow: 10, left: 3, refusedAt: 5 }]);
});

test('a window that was told of is noticed no more, and the next one is, however many were told', () => {
  const notices = new Notices(2);
  const key = entry('key_1');
  notices.observe(refused(key, 60_000));
  for (const notice of notices.takeLimits(9)) notices.toldLimit(notice);
  notices.observe(refused(key, 60_000));
  expect(notices.limitsSize).toBe(0);
  notices.observe(refused(key, 120_000));
  expect(notices.takeLimits(9).map(({ resetAtMs }) => resetAtMs)).toEqual([120_000]);
  // The oldest is forgotten: it is noticed again, and the database knows that it was told.
  for (const id of ['key_2', 'key_3']) {
    notices.observe(refused(entry(id), 60_000));
    for (const notice of notices.takeLimits(9)) notices.toldLimit(notice);
  }
  notices.observe(refused(key, 60_000));
  expect(notices.limitsSize).toBe(1);
});
