import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import type { Client } from 'pg';

import type { LocalCount } from '../../../src/storage/port/storage.ts';
import { MAX_PULLED } from '../../../src/storage/postgres/localCounts.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { DatabaseClock } from '../../support/cluster/databaseClock.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const NOON_MS = Date.parse('2026-03-15T12:00:00Z');
/** Of the minute that begins at noon. */
const END_MS = NOON_MS + MINUTE_MS;
const INSERT = `INSERT INTO local_counts (owner, name, duration_ms, node, count, reset_at_ms, pushed_at)`;

let lab: FaultLab;
let clock: DatabaseClock;
let storage: PostgresStorage;

beforeEach(async () => {
  lab = await FaultLab.start();
  clock = await DatabaseClock.on(lab, timeAt(0));
  storage = await lab.open({ nowMs: () => NOON_MS });
  // The first pull looks back from its own time.
  expect(await storage.localCounts.sync([], true)).toEqual([]);
});

afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

function timeAt(ms: number): string {
  return new Date(NOON_MS + ms).toISOString();
}

async function pullAt(ms: number): Promise<readonly LocalCount[]> {
  await clock.set(timeAt(ms));
  return storage.localCounts.sync([], true);
}

const ownersOf = (sums: readonly LocalCount[]): string[] => sums.map(({ owner }) => owner);

const sum = (owner: string, count: number, resetAtMs = END_MS): LocalCount => {
  return { owner, name: 'default', durationMs: MINUTE_MS, count, resetAtMs };
};

/** One row of each owner, a microsecond apart; `tied` of them, from the last one of a pull on, at the same time. */
async function pushMany(count: number, tied = 0): Promise<void> {
  await lab.query(
    `${INSERT} SELECT 'key_' || i, 'default', ${MINUTE_MS}, 'other', 1, ${END_MS},
      $2::timestamptz + interval '1 microsecond' * CASE WHEN i BETWEEN ${MAX_PULLED} AND ${MAX_PULLED} + $3 THEN ${MAX_PULLED} ELSE i END
      FROM generate_series(1, $1::int) i`,
    [count, timeAt(0), tied],
  );
}

interface Push {
  readonly owner: string;
  readonly count: number;
  readonly pushedAt: number;
  readonly resetAtMs?: number;
  readonly node?: string;
}

async function push(
  by: Pick<Client, 'query'> | FaultLab,
  { owner, count, pushedAt, resetAtMs, node }: Push,
): Promise<void> {
  await by.query(`${INSERT} VALUES ($1, 'default', ${MINUTE_MS}, $2, $3, $4, $5)`, [
    owner,
    node ?? 'other',
    count,
    resetAtMs ?? END_MS,
    timeAt(pushedAt),
  ]);
}

describe('a pull of what other nodes have counted', () => {
  test('looks at 10,000 rows, and the next ones go on from there until all were seen, each once', async () => {
    await pushMany(25_000);
    const pulls = [await pullAt(100), await pullAt(200), await pullAt(300)];
    expect(pulls.map(({ length }) => length)).toEqual([MAX_PULLED, MAX_PULLED, 5_000]);
    expect(new Set(pulls.flatMap(ownersOf)).size).toBe(25_000);
    expect(pulls.flat().every(({ count, resetAtMs }) => count === 1 && resetAtMs === END_MS)).toBe(true);
  });

  test('misses none of those that were pushed at the same microsecond', async () => {
    await pushMany(10_100, 50);
    const pulls = [await pullAt(100), await pullAt(200)];
    expect(pulls.map(({ length }) => length)).toEqual([MAX_PULLED + 50, 50]);
    expect(new Set(pulls.flatMap(ownersOf)).size).toBe(10_100);
  });

  test('sees a push that was committed late, although several pulls were full meanwhile', async () => {
    await pushMany(25_000);
    const late = await lab.client();
    await late.query('BEGIN');
    await push(late, { owner: 'late', count: 7, pushedAt: 5, node: 'slow' });
    expect(ownersOf(await pullAt(100)).length).toBe(MAX_PULLED);
    expect(ownersOf(await pullAt(1_200)).length).toBe(MAX_PULLED);
    // As long after its time as a push may take.
    await late.query('COMMIT');
    expect(ownersOf(await pullAt(2_300)).length).toBe(5_000);
    // The next round begins two seconds before the first of those pulls.
    expect((await pullAt(2_400)).filter(({ owner }) => owner === 'late')).toEqual([sum('late', 7)]);
  });

  test('looks two seconds back again when all were seen, and no further', async () => {
    await pushMany(MAX_PULLED);
    expect((await pullAt(3_000)).length).toBe(MAX_PULLED);
    expect((await pullAt(3_100)).length).toBe(0);
    await push(lab, { owner: 'older', count: 1, pushedAt: 1_000 });
    await push(lab, { owner: 'newer', count: 2, pushedAt: 1_001 });
    expect(await pullAt(3_200)).toEqual([sum('newer', 2)]);
  });
});

describe('a window that ends too late', () => {
  test('counts in the window in which it was pushed, with the rest of that, and in no other', async () => {
    await push(lab, { owner: 'key', count: 30, pushedAt: 10, resetAtMs: END_MS + HOUR_MS });
    await push(lab, { owner: 'key', count: 4, pushedAt: 20, node: 'another' });
    expect(await pullAt(100)).toEqual([sum('key', 34)]);
    expect(await pullAt(2_000)).toEqual([sum('key', 34)]);
    await lab.query("UPDATE local_counts SET count = 6, pushed_at = $1 WHERE node = 'another'", [timeAt(59_999)]);
    expect(await pullAt(59_999)).toEqual([sum('key', 36)]);
    await lab.query("UPDATE local_counts SET count = 5, reset_at_ms = $1, pushed_at = $2 WHERE node = 'another'", [
      END_MS + MINUTE_MS,
      timeAt(MINUTE_MS),
    ]);
    expect(await pullAt(MINUTE_MS + 100)).toEqual([sum('key', 5, END_MS + MINUTE_MS)]);
  });

  test('and was pushed while the clock of the database was ahead does not count', async () => {
    await push(lab, { owner: 'key', count: 30, pushedAt: HOUR_MS, resetAtMs: END_MS + HOUR_MS });
    await push(lab, { owner: 'key', count: 4, pushedAt: 20, node: 'another' });
    expect(await pullAt(100)).toEqual([sum('key', 4)]);
  });

  test('is told as it is while it is the next one, which begins within a second', async () => {
    const next = END_MS + MINUTE_MS;
    await push(lab, { owner: 'key', count: 30, pushedAt: MINUTE_MS - 1_001, resetAtMs: next });
    expect(await pullAt(MINUTE_MS - 1_001)).toEqual([sum('key', 30)]);
    expect(await pullAt(MINUTE_MS - 1_000)).toEqual([sum('key', 30, next)]);
  });

  test('is loaded in the window in which it was pushed, and in no later one', async () => {
    await push(lab, { owner: 'key', count: 30, pushedAt: 10, resetAtMs: END_MS + HOUR_MS });
    await push(lab, { owner: 'key', count: 4, pushedAt: 20, node: 'another' });
    await storage.localCounts.sync([sum('key', 2)], true);
    expect(await storage.localCounts.load('key')).toEqual([{ ...sum('key', 2), others: 34 }]);
    await clock.set(timeAt(MINUTE_MS));
    await push(lab, { owner: 'key', count: 5, pushedAt: MINUTE_MS, resetAtMs: END_MS + MINUTE_MS, node: 'third' });
    const loaded = await storage.localCounts.load('key');
    expect(loaded.toSorted((a, b) => a.resetAtMs - b.resetAtMs)).toEqual([
      { ...sum('key', 2), others: 4 },
      { ...sum('key', 0, END_MS + MINUTE_MS), others: 5 },
    ]);
  });
});
