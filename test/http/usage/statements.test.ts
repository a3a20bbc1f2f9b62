import { expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { TestService, type Answer } from '../../support/service.ts';
import type { UsageRow } from '../../../src/cli/commands/usage.ts';
import { planCalls } from '../plans/planCalls.ts';

type Fields = Record<string, unknown>;

type Row = UsageRow;

interface Page {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

const at = (text: string): number => Date.parse(text);

/** Everything that was read adds up: in each row, and from row to row of the same holder. */
function expectToAddUp(rows: readonly Row[]): void {
  for (const [i, row] of rows.entries()) {
    const { opening, granted, refilled, adjusted, spent, expired, closing } = row;
    expect([row, opening + granted + refilled + adjusted - spent - expired]).toEqual([row, closing]);
    const before = rows[i - 1];
    if (before === undefined || holderOf(before) !== holderOf(row)) continue;
    expect([before.start < row.start, before.closing]).toEqual([true, opening]);
    expect((before.end ?? Infinity) <= row.start).toBe(true);
  }
}

const holderOf = ({ keyId, identityId }: Row): string => keyId ?? identityId ?? '';

/** A row in few words: when, and what is not 0. */
function short({ start, end, ...row }: Row): string {
  const time = (ms: number): string =>
    new Date(ms)
      .toISOString()
      .replace(/:00\.000Z$/, '')
      .replace('T00:00', '');
  const figures = Object.entries(row).filter(([, value]) => typeof value === 'number' && value !== 0);
  const words = figures.map(([name, value]) => `${name} ${value}`).join(', ');
  return `${time(start)} .. ${end === undefined ? '' : time(end)}: ${words}`;
}

/** Identities on plans, each with a key. */
function customerCalls(using: () => TestService) {
  const calls = planCalls(using);
  const holder = async (planId: string, fields: Fields = {}) => {
    const { who, id: identityId, key, keyId } = await calls.holder(planId, fields);
    return { externalId: who.externalId ?? '', identityId, key, keyId };
  };
  return { plan: calls.plan, holder };
}

/** Calls about statements. */
function usageCalls(using: () => TestService) {
  const call = (query: Fields, options = {}): Promise<Answer> =>
    using().call('/v1/usage.getStatement', { per: 'day', ...query }, options);
  const page = async (query: Fields): Promise<Page> => {
    const answer = await call(query);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    const { rows } = answer.body as Page;
    expectToAddUp(rows);
    return answer.body as Page;
  };
  const shown = async (query: Fields): Promise<string[]> => (await page(query)).rows.map(short);
  /** All pages. */
  const all = async (query: Fields): Promise<{ rows: Row[]; pages: number }> => {
    const rows: Row[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const next: Page = await page({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      rows.push(...next.rows);
      cursor = next.cursor;
      pages++;
    } while (cursor !== undefined);
    expectToAddUp(rows);
    return { rows, pages };
  };
  const spend = (key: string, cost: number): Promise<unknown> => using().verify(key, { remaining: { cost } });
  const refused = async (query: Fields, options = {}): Promise<unknown[]> => {
    const { status, body } = await call(query, options);
    return [status, (body as { error?: { message?: string } } | undefined)?.error?.message];
  };
  return { call, page, shown, all, spend, refused };
}

const using = reuseService({ startsAt: '2026-03-01T12:00:00Z' });

const { shown, page, all, spend, call, refused } = usageCalls(using);

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

const START = at('2030-01-01T00:00:00Z');

/** `count` keys with one credit each, none of it used. */
async function manyKeys(count: number): Promise<string[]> {
  const apiId = await using().createApi();
  const keys = Array.from({ length: count }, () => ({ remaining: 1 }));
  const answer = await using().ok('/v1/keys.createKeys', { apiId, keys });
  return (answer.keys as { keyId: string }[]).map(({ keyId }) => keyId);
}

test('the pages of one holder go on from row to row, by day and by period, whatever the size of a page', async () => {
  const { key, keyId } = await using().createKey({ remaining: 5, refill: { interval: 'hourly', amount: 5 } });
  for (let day = 0; day < 4; day++) {
    for (let hour = 0; hour < 3; hour++) {
      await spend(key, 1 + hour);
      using().clock.advance(3_600_000);
    }
    using().clock.advance(21 * 3_600_000);
  }
  for (const per of ['day', 'period']) {
    const whole = (await page({ keyId, per })).rows;
    expect(whole.length).toBe(per === 'day' ? 5 : 13);
    for (const limit of [1, 2, 3, 7, whole.length]) {
      const { rows, pages } = await all({ keyId, per, limit });
      expect([limit, rows]).toEqual([limit, [...whole]]);
      expect(pages).toBe(Math.ceil(whole.length / limit));
    }
  }
});

test('all: keys and identities, sorted by id, also those that were deleted for good; a page ends after 100 of them', async () => {
  const keyIds = await manyKeys(150);
  const { identityId, key } = await holder(await plan({ remaining: 10 }));
  await spend(key, 3);
  const [gone = '', hidden = ''] = keyIds;
  await using().ok('/v1/keys.deleteKey', { keyId: gone, permanent: true });
  await using().ok('/v1/keys.deleteKey', { keyId: hidden });
  const { rows, pages } = await all({ all: true });
  const holders = rows.map(holderOf);
  expect(holders.toSorted()).toEqual(holders);
  expect(keyIds.filter((keyId) => !holders.includes(keyId))).toEqual([]);
  expect(rows.find((row) => row.identityId === identityId)).toMatchObject({ adjusted: 10, spent: 3, closing: 7 });
  expect(rows.find((row) => row.keyId === gone)).toMatchObject({ adjusted: 0, closing: 0 });
  expect(pages).toBe(Math.floor(new Set(holders).size / 100) + 1);
  const first = await page({ all: true });
  expect(new Set(first.rows.map(holderOf)).size).toBe(100);
  // Holders without a row in this time are looked at too: a page may be empty and not the last.
  expect(await page({ all: true, start: START })).toEqual({ rows: [], cursor: first.cursor ?? '' });
  expect(await all({ all: true, start: START })).toMatchObject({ rows: [] });
});

test('a page of many holders can end in the middle of one', async () => {
  const planId = await plan({ remaining: 100 });
  const holders = [await holder(planId), await holder(planId), await holder(planId)];
  for (let day = 0; day < 3; day++) {
    for (const [i, { key }] of holders.entries()) await spend(key, i + 1);
    using().clock.advance(86_400_000);
  }
  await holder(await plan({ remaining: 100 }));
  const spent = (rows: readonly Row[]) => rows.map((row) => [row.externalId, row.spent]);
  const expected = holders
    .toSorted((a, b) => (a.identityId < b.identityId ? -1 : 1))
    .flatMap(({ externalId }) => {
      const cost = holders.findIndex((each) => each.externalId === externalId) + 1;
      return [cost, cost, cost].map((each) => [externalId, each]);
    });
  for (const limit of [1, 2, 4, 9, 10]) {
    expect([limit, spent((await all({ planId, limit })).rows)]).toEqual([limit, expected]);
  }
});

test('the holders of a plan are those that are on it now, on the plan that each is to have by now', async () => {
  const [small, large] = [await plan({ remaining: 10 }), await plan({ remaining: 99 })];
  const monthly = { interval: 'monthly', amount: 10 };
  const stays = await holder(small);
  const moves = await holder(small, { remaining: 10, refill: monthly });
  await using().ok('/v1/plans.assign', { externalId: moves.externalId, planId: large, when: 'nextRefill' });
  const on = async (planId: string) =>
    (await page({ planId })).rows.map(({ externalId = '' }) => externalId).toSorted();
  expect([await on(small), await on(large)]).toEqual([[stays.externalId, moves.externalId].toSorted(), []]);
  using().clock.advance(32 * 86_400_000);
  expect([[...new Set(await on(small))], [...new Set(await on(large))]]).toEqual([
    [stays.externalId],
    [moves.externalId],
  ]);
});

test('a page takes no cursor that no page ends with', async () => {
  const { keyId } = await using().createKey({ remaining: 1 });
  for (const cursor of [
    'x',
    '1042',
    `${keyId}:`,
    `${keyId}:-1`,
    `${keyId}:${'9'.repeat(16)}`,
    `api_${keyId.slice(4)}`,
  ]) {
    expect(await refused({ keyId, cursor })).toEqual([
      400,
      `cursor must be the cursor of an earlier page, got "${cursor}"`,
    ]);
  }
});

test('CSV and NDJSON answer all rows, by a field or by the Accept header, and no page', async () => {
  const keyIds = await manyKeys(130);
  const { rows } = await all({ all: true });
  const ndjson = await call({ all: true, format: 'ndjson' });
  expect([ndjson.status, ndjson.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  expect(ndjson.headers.get('keystile-request-id')).toMatch(/^req_/);
  const lines = ndjson.text.split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => JSON.parse(line) as Row)).toEqual(rows);
  const accepted = await call({ all: true }, { headers: { accept: 'application/x-ndjson' } });
  expect(accepted.text).toBe(ndjson.text);
  const csv = await call({ all: true }, { headers: { accept: 'text/html;q=0.9, text/csv' } });
  expect([csv.status, csv.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
  const [heading, ...cells] = csv.text.split('\r\n').map((line) => line.split(','));
  expect(cells.pop()).toEqual(['']);
  expect(cells.length).toBe(rows.length);
  const read = cells.map((row) =>
    Object.fromEntries(row.flatMap((cell, i) => (cell === '' ? [] : [[heading?.[i], cell]]))),
  );
  expect(read).toEqual(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]))),
  );
  expect(keyIds.every((keyId) => csv.text.includes(keyId))).toBe(true);
  for (const accept of ['*/*', 'application/json', 'application/json, text/csv', 'text/html, */*;q=0.8, text/csv']) {
    const answer = await call({ all: true, limit: 1 }, { headers: { accept } });
    expect([accept, answer.headers.get('content-type')]).toEqual([accept, 'application/json']);
  }
  const json = await call({ all: true, format: 'json' }, { headers: { accept: 'text/csv' } });
  expect(json.body).toEqual(await page({ all: true }));
});

test('CSV: what a spreadsheet would take for a formula begins with an apostrophe, and commas and quotes stay in their cell', async () => {
  const planId = await plan({ remaining: 1 });
  const ids = ['=1+2', '+49', '-xy', '@sum', 'a,b', 'say "hi"', '=a,"b"', "it's"];
  for (const externalId of ids) {
    await using().ok('/v1/identities.createIdentity', { externalId });
    await using().ok('/v1/plans.assign', { externalId, planId });
  }
  const { text } = await call({ planId, format: 'csv' });
  const cells = text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => /^,id_\w+,(.*),\d+,\d+,0,0,0,1,0,0,1,0$/.exec(line)?.[1] ?? '');
  expect(cells.toSorted()).toEqual(
    [`'=1+2`, `'+49`, `'-xy`, `'@sum`, `"a,b"`, `"say ""hi"""`, `"'=a,""b"""`, `it's`].toSorted(),
  );
});

test('no row is lost between pages when a clock was ahead and the counter was replaced after it was set right', async () => {
  const { key, keyId } = await using().createKey({ remaining: 100 });
  await spend(key, 1);
  using().clock.advance(86_400_000);
  await spend(key, 2);
  using().clock.advance(9 * 86_400_000);
  await spend(key, 3);
  // The clock is set right, and the counter becomes another one.
  using().clock.advance(-9 * 86_400_000);
  await using().ok('/v1/keys.updateKey', { keyId, remaining: null });
  await using().ok('/v1/keys.updateKey', { keyId, remaining: 50 });
  await spend(key, 5);
  const rowsOf = async (limit: number): Promise<unknown[]> => {
    const rows: unknown[] = [];
    for (let cursor: string | undefined; ;) {
      const { body } = await call({ keyId, limit, ...(cursor === undefined ? {} : { cursor }) });
      rows.push(...(body as { rows: unknown[] }).rows);
      cursor = (body as { cursor?: string }).cursor;
      if (cursor === undefined) return rows;
    }
  };
  const whole = await rowsOf(100);
  expect(whole).toMatchObject([{ spent: 1 }, { spent: 2 }, { spent: 3, closing: 0 }, { spent: 5, closing: 45 }]);
  for (const limit of [1, 2, 3]) expect([limit, await rowsOf(limit)]).toEqual([limit, whole]);
  using().clock.advance(2 * 86_400_000);
  await spend(key, 7);
  expect((await rowsOf(1)).length).toBe(5);
});

test('a sum above 2^53-1 is refused with its reason, and the rows around it are shown', async () => {
  const { keyId } = await using().createKey({ remaining: 1 });
  const most = Number.MAX_SAFE_INTEGER;
  for (const i of [1, 2]) {
    await using().ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 2 });
    const grant = { keyId, amount: most - 2, reason: 'test', idempotencyKey: `large-${i}-${keyId}` };
    await using().ok('/v1/credits.grant', grant);
  }
  const start = using().clock.nowMs() - (using().clock.nowMs() % 86_400_000);
  const where = `The row of ${keyId} that begins at ${start} cannot be shown exactly`;
  const how = 'Ask for rows by day, or for a time without this row.';
  expect(await refused({ keyId })).toEqual([412, `${where}: its sum of "granted" is above ${most}. ${how}`]);
  // A time without it, as the refusal says.
  expect((await page({ keyId, end: start })).rows).toEqual([]);
  using().clock.advance(86_400_000);
  await using().ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 5 });
  expect((await page({ keyId, start: start + 86_400_000 })).rows).toMatchObject([{ opening: most, closing: 5 }]);
});

test('a new rule begins a new period, also when both have the same running boundary', async () => {
  const daily = (amount: number) => ({ interval: 'daily', amount });
  const { key, keyId } = await using().createKey({ remaining: 10, refill: daily(10) });
  await spend(key, 1);
  using().clock.advance(3_600_000);
  await using().ok('/v1/keys.updateKey', { keyId, refill: daily(20) });
  await spend(key, 2);
  await using().ok('/v1/keys.updateKey', { keyId, refill: daily(20) });
  await spend(key, 3);
  const periods = async () => (await page({ keyId, per: 'period' })).rows.map(({ spent }) => spent);
  expect(await periods()).toEqual([1, 5]);
  using().clock.advance(86_400_000);
  await spend(key, 4);
  expect(await periods()).toEqual([1, 5, 4]);
  expect((await using().verify(key, { remaining: { cost: 0 } })).remaining).toBe(16);
});

const absent = (what: string): string => `There is no ${what}, or this root key may not see it.`;

async function rootKeyWith(...rights: string[]): Promise<string> {
  return (await using().engine.rootKeys.create({ name: 'usage', rights, expiresAtMs: null })).secret;
}

test('a key needs the right on its api, an identity and a plan on themselves, all on all; what cannot be read is not there', async () => {
  const planId = await plan({ remaining: 5 });
  const { externalId, identityId } = await holder(planId);
  const apiId = await using().createApi();
  const { keyId } = await using().createKey({ apiId, remaining: 5 });
  const rights = {
    api: `api.${apiId}.read_usage`,
    identity: `identity.${identityId}.read_usage`,
    plan: `plan.${planId}.read_usage`,
  };
  const queries: Record<string, Fields> = { api: { keyId }, identity: { externalId }, plan: { planId } };
  const words = { api: `key "${keyId}"`, identity: 'customer with this externalId', plan: `plan "${planId}"` };
  for (const [name, query] of Object.entries(queries)) {
    for (const [held, right] of Object.entries(rights)) {
      const rootKey = await rootKeyWith(right);
      for (const format of ['json', 'csv']) {
        const [status, message] = await refused({ ...query, format }, { rootKey });
        const expected =
          name === held ? [200, undefined] : [403, `This root key lacks the right ${name}.*.read_usage.`];
        expect([name, held, status, message]).toEqual([name, held, ...expected]);
      }
    }
    const other = await rootKeyWith(`${name}.${name}_1.read_usage`);
    expect([name, ...(await refused(query, { rootKey: other }))]).toEqual([
      name,
      404,
      absent(words[name as keyof typeof words]),
    ]);
  }
  const every = ['api.*.read_usage', 'identity.*.read_usage'];
  expect((await call({ all: true }, { rootKey: await rootKeyWith(...every) })).status).toBe(200);
  for (const right of every) {
    const missing = every.find((each) => each !== right);
    expect(await refused({ all: true }, { rootKey: await rootKeyWith(right, rights.plan) })).toEqual([
      403,
      `This root key lacks the right ${missing}.`,
    ]);
  }
});

test('of a key that was deleted for good the api is forgotten: reading it needs the right on every api', async () => {
  const apiId = await using().createApi();
  const { keyId } = await using().createKey({ apiId, remaining: 5 });
  const [ofApi, ofAll] = [await rootKeyWith(`api.${apiId}.read_usage`), await rootKeyWith('api.*.read_usage')];
  await using().ok('/v1/keys.deleteKey', { keyId });
  expect((await call({ keyId }, { rootKey: ofApi })).status).toBe(200);
  await using().ok('/v1/keys.deleteKey', { keyId, permanent: true });
  expect((await call({ keyId }, { rootKey: ofApi })).status).toBe(404);
  expect((await call({ keyId }, { rootKey: ofAll })).body.rows).toHaveLength(1);
});

test('an identity is no key, and a key no identity', async () => {
  const { identityId } = await holder(await plan({ remaining: 5 }));
  const { keyId } = await using().createKey({ remaining: 5 });
  expect((await call({ keyId: identityId })).status).toBe(404);
  expect((await call({ identityId: keyId })).status).toBe(404);
});

test('bad input is refused with what was given', async () => {
  const { keyId } = await using().createKey({ remaining: 5 });
  const list = 'keyId, externalId, identityId, planId and all: true';
  const cases: [Fields, number, string][] = [
    [{}, 400, `give one of ${list}`],
    [{ all: false }, 400, `give one of ${list}`],
    [{ keyId, all: true }, 400, `give only one of ${list}, got keyId and all`],
    [{ keyId, externalId: 'a', planId: 'b' }, 400, `give only one of ${list}, got keyId and externalId and planId`],
    [{ keyId, start: 5, end: 5 }, 400, 'end must be after start (5), got 5'],
    [{ keyId, start: 6, end: 5, format: 'csv' }, 400, 'end must be after start (6), got 5'],
    [{ keyId, per: 'hour' }, 400, 'per must be one of "day", "period", got "hour"'],
    [{ keyId, format: 'xml' }, 400, 'format must be one of "json", "csv", "ndjson", got "xml"'],
    [{ keyId, limit: 0 }, 400, 'limit must be a whole number from 1 to 1000, got 0'],
    [{ keyId, limit: 1001 }, 400, 'limit must be a whole number from 1 to 1000, got 1001'],
    [
      { keyId, format: 'csv', limit: 5 },
      400,
      'limit is for pages of JSON. The format "csv" answers all rows: leave limit out',
    ],
    [
      { keyId, format: 'ndjson', cursor: keyId },
      400,
      'cursor is for pages of JSON. The format "ndjson" answers all rows: leave cursor out',
    ],
    [{ keyId: 'key_1' }, 404, absent('key "key_1"')],
    [{ planId: 'plan_1' }, 404, absent('plan "plan_1"')],
    [{ externalId: 'nobody' }, 404, absent('customer with this externalId')],
    [{ identityId: 'id_1' }, 404, absent('customer "id_1"')],
  ];
  for (const [query, status, message] of cases)
    expect([query, ...(await refused(query))]).toEqual([query, status, message]);
});

const DAY_MS = 86_400_000;

async function prune(service: TestService): Promise<void> {
  const { nowMs } = service.clock;
  const clocks = { monotonicMs: nowMs, wallClockMs: nowMs };
  const log = { warn: () => {}, info: () => {}, error: () => {} };
  const { tasks } = engineTasks({ engine: service.engine, syncIntervalMs: 250, log, ...clocks });
  const task = tasks.find(({ name }) => name === 'removing old statements');
  await task?.run({ rest: async () => true, until: async (event) => event });
}

test.each([
  ['25 months', {}, 761],
  ['as long as the setting says', { KEYSTILE_STATEMENT_RETENTION: '30d' }, 30],
] as const)(
  'lines are kept for %s; balances stay, and the statement goes on from what is kept',
  async (_title, settings, days) => {
    const service = await TestService.start({ settings, startsAt: '2026-03-10T12:00:00Z' });
    const { shown: rowsOf, spend: spendIn } = usageCalls(() => service);
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const gone = await service.createKey({ remaining: 3 });
    await service.ok('/v1/keys.deleteKey', { keyId: gone.keyId, permanent: true });
    service.clock.advance(DAY_MS);
    await spendIn(key, 4);
    service.clock.advance((days - 1) * DAY_MS);
    await spendIn(key, 1);
    await prune(service);
    expect((await rowsOf({ keyId })).length).toBe(3);
    expect((await rowsOf({ keyId: gone.keyId })).length).toBe(1);
    service.clock.advance(1);
    await prune(service);
    const rows = await rowsOf({ keyId });
    expect(rows.map((row) => row.replace(/^.*: /, ''))).toEqual([
      'opening 10, spent 4, closing 6',
      'opening 6, spent 1, closing 5',
    ]);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
    // Nothing is left of it, not even that it was there.
    expect((await service.call('/v1/usage.getStatement', { keyId: gone.keyId, per: 'day' })).status).toBe(404);
    await service.stop();
  },
);

test('a payment that is reported again within 35 days tops up once, also where statements are kept for a day', async () => {
  const settings = { KEYSTILE_STATEMENT_RETENTION: '1d' };
  const service = await TestService.start({ settings, startsAt: '2026-03-10T12:00:00Z' });
  const { keyId } = await service.createKey({ remaining: 10 });
  const payment = { keyId, amount: 5, reason: 'a payment', idempotencyKey: 'payment-1' };
  const pay = async () => (await service.ok('/v1/credits.grant', payment)).remaining;
  expect(await pay()).toBe(15);
  service.clock.advance(35 * DAY_MS);
  await prune(service);
  expect(await pay()).toBe(15);
  service.clock.advance(1);
  await prune(service);
  expect(await pay()).toBe(20);
  await service.stop();
});
