import { expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { customerCalls, at, usageCalls } from './usageCalls.ts';

const using = reuseService({ startsAt: '2026-03-01T12:00:00Z' });
const { shown, page, spend } = usageCalls(using);
const { plan, holder } = customerCalls(using);

/** Tests say what they see in days of March 2026, whatever day the service has reached. */
function begin(text: string): void {
  using().clock.set(text);
}

test('a day has one row with all that happened in it, and days without movements have none', async () => {
  begin('2026-03-02T09:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 100 });
  await spend(key, 3);
  await spend(key, 4);
  begin('2026-03-03T00:00:00Z');
  await spend(key, 5);
  await using().ok('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 50 });
  begin('2026-03-06T23:59:59Z');
  await using().ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 10 });
  await spend(key, 1);
  const rows = [
    '2026-03-02 .. 2026-03-03: adjusted 100, spent 7, closing 93',
    '2026-03-03 .. 2026-03-04: opening 93, adjusted 50, spent 5, closing 138',
    '2026-03-06 .. 2026-03-07: opening 138, adjusted -128, spent 1, closing 9',
  ];
  expect(await shown({ keyId })).toEqual(rows);
  begin('2026-03-09T10:00:00Z');
  expect(await shown({ keyId })).toEqual(rows);
  expect(await shown({ keyId, per: 'period' })).toEqual(['2026-03-02T09:00 .. : adjusted 22, spent 13, closing 9']);
});

test('a row is exact at the moment of the call: with the last spend, and with a refill that nothing has written down yet', async () => {
  begin('2026-03-12T09:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
  await spend(key, 6);
  begin('2026-03-14T08:00:00Z');
  const { remaining } = await using().ok('/v1/keys.getKey', { keyId });
  expect(remaining).toBe(10);
  const rows = [
    '2026-03-12 .. 2026-03-13: adjusted 10, spent 6, closing 4',
    '2026-03-14 .. 2026-03-15: opening 4, refilled 6, closing 10',
  ];
  expect(await shown({ keyId })).toEqual(rows);
  await using().engine.dueCredits.sweep();
  expect(await shown({ keyId })).toEqual(rows);
  await spend(key, 1);
  expect((await shown({ keyId })).at(-1)).toBe('2026-03-14 .. 2026-03-15: opening 4, refilled 6, spent 1, closing 9');
});

test('periods begin and end with refills: hourly, daily, weekly and monthly, in their time zones', async () => {
  begin('2026-04-01T09:10:00Z');
  const make = (refill: object) => using().createKey({ remaining: 10, refill: { amount: 10, ...refill } });
  const hourly = await make({ interval: 'hourly', timezone: 'Asia/Kolkata' });
  const daily = await make({ interval: 'daily', timezone: 'America/New_York' });
  const weekly = await make({ interval: 'weekly', refillWeekday: 3 });
  const monthly = await make({ interval: 'monthly', refillDay: 5, timezone: 'Europe/Berlin' });
  const keys = [hourly, daily, weekly, monthly];
  const spendAll = async (text: string): Promise<void> => {
    begin(text);
    for (const { key } of keys) await spend(key, 2);
  };
  await spendAll('2026-04-01T09:20:00Z');
  await spendAll('2026-04-01T09:40:00Z');
  await spendAll('2026-04-02T03:59:59Z');
  await spendAll('2026-04-08T05:00:00Z');
  const periods = (keyId: string) => shown({ keyId, per: 'period' });
  expect(await periods(hourly.keyId)).toEqual([
    '2026-04-01T09:10 .. 2026-04-01T09:30: adjusted 10, spent 2, closing 8',
    '2026-04-01T09:30 .. 2026-04-01T10:30: opening 8, refilled 2, spent 2, closing 8',
    '2026-04-02T03:30 .. 2026-04-02T04:30: opening 8, refilled 2, spent 2, closing 8',
    '2026-04-08T04:30 .. 2026-04-08T05:30: opening 8, refilled 2, spent 2, closing 8',
  ]);
  expect(await periods(daily.keyId)).toEqual([
    '2026-04-01T09:10 .. 2026-04-02T04:00: adjusted 10, spent 6, closing 4',
    '2026-04-08T04:00 .. 2026-04-09T04:00: opening 4, refilled 6, spent 2, closing 8',
  ]);
  expect(await periods(weekly.keyId)).toEqual([
    '2026-04-01T09:10 .. 2026-04-08: adjusted 10, spent 6, closing 4',
    '2026-04-08 .. 2026-04-15: opening 4, refilled 6, spent 2, closing 8',
  ]);
  expect(await periods(monthly.keyId)).toEqual([
    '2026-04-01T09:10 .. 2026-04-04T22:00: adjusted 10, spent 6, closing 4',
    '2026-04-04T22:00 .. 2026-05-04T22:00: opening 4, refilled 6, spent 2, closing 8',
  ]);
  expect(await shown({ keyId: monthly.keyId })).toEqual([
    '2026-04-01 .. 2026-04-02: adjusted 10, spent 4, closing 6',
    '2026-04-02 .. 2026-04-03: opening 6, spent 2, closing 4',
    '2026-04-04 .. 2026-04-05: opening 4, refilled 6, closing 10',
    '2026-04-08 .. 2026-04-09: opening 10, spent 2, closing 8',
  ]);
});

test('start and end choose the days and periods that they touch, and these are whole', async () => {
  begin('2026-05-01T00:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 100, refill: { interval: 'monthly', amount: 100 } });
  for (const day of ['03', '10', '20']) {
    begin(`2026-05-${day}T12:00:00Z`);
    await spend(key, Number(day));
  }
  begin('2026-06-10T12:00:00Z');
  await spend(key, 1);
  const days = async (start: string | null, end: string | null): Promise<string[]> => {
    const range = { start: start === null ? null : at(start), end: end === null ? null : at(end) };
    return (await page({ keyId, ...range })).rows.map((row) => new Date(row.start).toISOString().slice(5, 10));
  };
  expect(await days(null, null)).toEqual(['05-01', '05-03', '05-10', '05-20', '06-01', '06-10']);
  expect(await days('2026-05-03T23:59:59.999Z', '2026-05-10T00:00:00.001Z')).toEqual(['05-03', '05-10']);
  expect(await days('2026-05-04T00:00:00Z', '2026-05-10T00:00:00Z')).toEqual([]);
  expect(await days('2026-06-10T13:00:00Z', null)).toEqual(['06-10']);
  expect(await days('2026-06-11T00:00:00Z', null)).toEqual([]);
  const may = '2026-05-01 .. 2026-06-01: adjusted 100, spent 33, closing 67';
  const june = '2026-06-01 .. 2026-07-01: opening 67, refilled 33, spent 1, closing 99';
  const periods = (start: string | null, end: string | null) =>
    shown({ keyId, per: 'period', start: start === null ? null : at(start), end: end === null ? null : at(end) });
  expect(await periods(null, null)).toEqual([may, june]);
  expect(await periods('2026-05-31T00:00:00Z', '2026-06-01T00:00:00Z')).toEqual([may]);
  expect(await periods('2026-05-15T00:00:00Z', '2026-06-01T00:00:00.001Z')).toEqual([may, june]);
  expect(await periods('2026-06-01T00:00:00Z', null)).toEqual([june]);
  expect(await periods('2026-06-30T00:00:00Z', '2026-08-01T00:00:00Z')).toEqual([june]);
  expect(await periods('2026-07-01T00:00:00Z', null)).toEqual([]);
});

test('credits that were taken away and given again are one statement, and so are those of a key that was deleted for good', async () => {
  begin('2026-07-01T10:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 10 });
  await spend(key, 4);
  await using().ok('/v1/keys.updateKey', { keyId, remaining: null });
  expect(await shown({ keyId })).toEqual(['2026-07-01 .. 2026-07-02: adjusted 4, spent 4']);
  await using().ok('/v1/keys.updateKey', { keyId, remaining: 7 });
  await spend(key, 1);
  const first = '2026-07-01 .. 2026-07-02: adjusted 11, spent 5, closing 6';
  expect(await shown({ keyId })).toEqual([first]);
  begin('2026-07-02T10:00:00Z');
  await using().ok('/v1/keys.deleteKey', { keyId });
  expect(await shown({ keyId })).toEqual([first]);
  await using().ok('/v1/keys.deleteKey', { keyId, permanent: true });
  const last = '2026-07-02 .. 2026-07-03: opening 6, adjusted -6';
  expect(await shown({ keyId })).toEqual([first, last]);
  expect(await shown({ keyId, per: 'period' })).toEqual(['2026-07-01T10:00 .. 2026-07-03: adjusted 5, spent 5']);
});

test('nothing refills the credits of a deleted key until it is restored', async () => {
  begin('2026-07-10T10:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
  await spend(key, 4);
  await using().ok('/v1/keys.deleteKey', { keyId });
  begin('2026-07-12T10:00:00Z');
  const first = '2026-07-10 .. 2026-07-11: adjusted 10, spent 4, closing 6';
  expect(await shown({ keyId })).toEqual([first]);
  await using().ok('/v1/keys.restoreKey', { keyId });
  expect(await shown({ keyId })).toEqual([first, '2026-07-12 .. 2026-07-13: opening 6, refilled 4, closing 10']);
});

test('an identity has the statement of the credits that its keys share, by either id, on the rules of its plan', async () => {
  begin('2026-08-01T10:00:00Z');
  const pro = await plan({ remaining: 100, refill: { interval: 'weekly', amount: 100 } });
  const { externalId, identityId, key, keyId } = await holder(pro);
  await spend(key, 30);
  begin('2026-08-03T10:00:00Z');
  await spend(key, 1);
  const rows = [
    '2026-08-01T10:00 .. 2026-08-03: adjusted 100, spent 30, closing 70',
    '2026-08-03 .. 2026-08-10: opening 70, refilled 30, spent 1, closing 99',
  ];
  expect(await shown({ externalId, per: 'period' })).toEqual(rows);
  expect(await shown({ identityId, per: 'period' })).toEqual(rows);
  expect((await page({ externalId })).rows[0]).toMatchObject({ externalId, identityId });
  // The key has no credits of its own.
  expect(await shown({ keyId })).toEqual([]);
  await using().ok('/v1/identities.deleteIdentity', { externalId, keys: 'delete' });
  const { rows: gone } = await page({ identityId, per: 'period' });
  expect(gone.map(({ closing }) => closing)).toEqual([70, 0]);
  expect('externalId' in (gone[0] ?? {})).toBe(false);
});

test('a new refill rule begins a new period', async () => {
  begin('2026-09-01T10:00:00Z');
  const { key, keyId } = await using().createKey({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
  await spend(key, 1);
  begin('2026-09-03T10:00:00Z');
  await using().ok('/v1/keys.updateKey', { keyId, refill: { interval: 'monthly', amount: 20 } });
  await spend(key, 2);
  begin('2026-09-04T10:00:00Z');
  await spend(key, 3);
  await using().ok('/v1/keys.updateKey', { keyId, refill: null });
  await spend(key, 1);
  expect(await shown({ keyId, per: 'period' })).toEqual([
    '2026-09-01T10:00 .. 2026-09-03: adjusted 10, spent 1, closing 9',
    '2026-09-03 .. 2026-09-03T10:00: opening 9, refilled 1, closing 10',
    '2026-09-03T10:00 .. 2026-09-04T10:00: opening 10, spent 5, closing 5',
    '2026-09-04T10:00 .. : opening 5, spent 1, closing 4',
  ]);
});

test('what is metered has a balance below zero, and what follows it begins anew', async () => {
  begin('2026-10-01T10:00:00Z');
  const { key, keyId } = await using().createKey({ metered: true });
  await spend(key, 4);
  begin('2026-10-02T10:00:00Z');
  await spend(key, 3);
  const first = '2026-10-01 .. 2026-10-02: spent 4, closing -4';
  expect(await shown({ keyId })).toEqual([first, '2026-10-02 .. 2026-10-03: opening -4, spent 3, closing -7']);
  await using().ok('/v1/keys.updateKey', { keyId, metered: false, remaining: 10 });
  await spend(key, 1);
  const second = '2026-10-02 .. 2026-10-03: opening -4, adjusted 17, spent 4, closing 9';
  expect(await shown({ keyId })).toEqual([first, second]);
  await using().ok('/v1/keys.deleteKey', { keyId, permanent: true });
  expect((await shown({ keyId }))[1]).toBe('2026-10-02 .. 2026-10-03: opening -4, adjusted 8, spent 4');
});

test('a key without an identity can be on a plan: its rules refill it, and it is among the holders', async () => {
  begin('2026-10-10T10:00:00Z');
  const planId = await plan({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
  const { externalId } = await holder(planId);
  const { key, keyId } = await using().createKey();
  await using().ok('/v1/plans.assign', { keyId, planId });
  await spend(key, 3);
  begin('2026-10-11T10:00:00Z');
  expect(await shown({ keyId, per: 'period' })).toEqual([
    '2026-10-10T10:00 .. 2026-10-11: adjusted 10, spent 3, closing 7',
    '2026-10-11 .. 2026-10-12: opening 7, refilled 3, closing 10',
  ]);
  const { rows } = await page({ planId });
  expect(rows.map((row) => row.keyId ?? row.externalId)).toEqual([externalId, keyId, keyId]);
});
