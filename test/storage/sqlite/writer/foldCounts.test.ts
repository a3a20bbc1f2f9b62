import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { MAX_COUNT } from '../../../../src/core/bounds.ts';
import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import { packCounts } from '../../../../src/storage/sql/analytics/packedCounts.ts';
import type { Params } from '../../../../src/storage/sql/query/statement.ts';
import { migrateAnalytics, ADD_SLICE, packApis } from '../../../../src/storage/sqlite/analytics.ts';
import { type Connection, foldCounts, unpackSlices } from '../../../../src/storage/sqlite/writer/foldCounts.ts';
import { verificationCount, verdictCounts as counts } from '../../../postgres/conformance/samples.ts';

const MINUTE_MS = 60_000;
/** Six rows of one step, of three keys with two codes: api, key, no identity, no tags, code, minute. */
const STEP = 6 * 'api_1 key_1   0 1773532800000'.length;

function setup(): { db: Database; connection: Connection } {
  const db = new Database(':memory:');
  migrateAnalytics(db);
  return {
    db,
    connection: {
      // What was read before the transaction began may be gone, or folded by another connection.
      statement: (sql) => {
        expect(db.inTransaction).toBe(true);
        return db.query<unknown, Params>(sql);
      },
      transaction: (work) => db.transaction(work).immediate(),
    },
  };
}

function add(db: Database, keys: readonly string[], minute = 0): void {
  const added = keys.map((keyId) =>
    verificationCount({ keyId, minuteMs: verificationCount().minuteMs + minute * MINUTE_MS, counts: counts(1, 2) }),
  );
  addSlice(db, CountColumns.of(added));
}

function addSlice(db: Database, added: CountColumns): void {
  db.query<unknown, Params>(ADD_SLICE).run(packApis(added), packCounts(added));
}

/** Rows that wait, and what the sums say. */
function stateOf(db: Database): unknown {
  const [waiting] = db.query('SELECT (SELECT count(*) FROM count_slices), (SELECT count(*) FROM verdict_log)').values();
  const [sums, ofApi] = ['key_verdicts', 'api_verdicts'].map((table) =>
    db
      .query(
        `SELECT span, count(*), sum(CASE code WHEN 0 THEN count ELSE 0 END), sum(CASE code WHEN 1 THEN count ELSE 0 END)
          FROM ${table} GROUP BY span`,
      )
      .values(),
  );
  return { waiting, sums, ofApi };
}

test('a step ends when it has its rows, with a whole slice; the next goes on behind it, and counts of a key are added', () => {
  const { db, connection } = setup();
  add(db, ['key_1', 'key_2']);
  add(db, ['key_3', 'key_4']);
  add(db, ['key_1', 'key_1']);
  add(db, ['key_1'], 1);
  expect(foldCounts(connection, STEP)).toBe(false);
  expect(stateOf(db)).toEqual({
    waiting: [2, 0],
    sums: [0, 1, 2].map((span) => [span, 8, 4, 8]),
    ofApi: [0, 1, 2].map((span) => [span, 2, 4, 8]),
  });
  expect(foldCounts(connection, STEP)).toBe(true);
  expect(stateOf(db)).toEqual({
    waiting: [0, 0],
    sums: [
      [0, 10, 7, 14],
      [1, 8, 7, 14],
      [2, 8, 7, 14],
    ],
    ofApi: [
      [0, 4, 7, 14],
      [1, 2, 7, 14],
      [2, 2, 7, 14],
    ],
  });
  expect(foldCounts(connection, STEP)).toBe(true);
});

test('what a question has brought into the log is taken from there, beside what has come since', () => {
  const { db, connection } = setup();
  for (const key of ['key_1', 'key_2', 'key_3', 'key_4', 'key_5']) add(db, [key]);
  expect([unpackSlices(connection, STEP), unpackSlices(connection, STEP)]).toEqual([false, true]);
  add(db, ['key_5', 'key_6']);
  expect(stateOf(db)).toEqual({ waiting: [1, 10], sums: [], ofApi: [] });
  const steps: boolean[] = [];
  while (steps.at(-1) !== true) steps.push(foldCounts(connection, STEP));
  expect(steps).toEqual([false, true]);
  expect(stateOf(db)).toEqual({
    waiting: [0, 0],
    sums: [0, 1, 2].map((span) => [span, 12, 7, 14]),
    ofApi: [0, 1, 2].map((span) => [span, 2, 7, 14]),
  });
});

test('a sum of credits in the tables stops at the largest whole number that is exact', () => {
  const { db, connection } = setup();
  for (let n = 0; n < 3; n++) {
    const counted = verificationCount({ credits: MAX_COUNT - 1 });
    addSlice(db, CountColumns.of([counted]));
    foldCounts(connection);
  }
  for (const table of ['key_verdicts', 'api_verdicts']) {
    const sums = db.query(`SELECT span, count, CAST(credits AS TEXT) FROM ${table} ORDER BY span`).values();
    expect(sums).toEqual([0, 1, 2].map((span) => [span, 3, String(MAX_COUNT)]));
  }
});

test('a code that this program does not know is folded under its number: newer nodes count it', () => {
  const { db, connection } = setup();
  const { minuteMs } = verificationCount();
  const body = {
    from_ms: minuteMs,
    apis: ['api_1'],
    key_id: ['key_1', 'key_2'],
    last_at_ms: [5, 6],
    '9': [4, 0],
    valid: [0, 1],
    credits: [3, 0],
  };
  db.query('INSERT INTO count_slices (apis, body) VALUES (?, ?)').run('[]', JSON.stringify(body));
  expect(foldCounts(connection)).toBe(true);
  expect(db.query('SELECT key_id, code, count, credits FROM key_verdicts WHERE span = 2').values()).toEqual([
    ['key_1', 0, 0, 3],
    ['key_1', 9, 4, 0],
    ['key_2', 0, 1, 0],
  ]);
});

test('a step that fails changes nothing', () => {
  const { db, connection } = setup();
  add(db, ['key_1']);
  unpackSlices(connection);
  add(db, ['key_2']);
  const before = stateOf(db);
  db.run('ALTER TABLE key_uses RENAME TO gone');
  expect(() => foldCounts(connection)).toThrow('no such table: key_uses');
  expect(stateOf(db)).toEqual(before);
  db.run('ALTER TABLE gone RENAME TO key_uses');
  expect(foldCounts(connection)).toBe(true);
  expect(db.query('SELECT key_id FROM key_uses').values()).toEqual([['key_1'], ['key_2']]);
});
