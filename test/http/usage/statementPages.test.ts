import { expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { customerCalls, at, holderOf, type Row, usageCalls } from './usageCalls.ts';

const using = reuseService({ startsAt: '2026-03-01T12:00:00Z' });
const { page, all, spend, call, refused } = usageCalls(using);
const { plan, holder } = customerCalls(using);

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
