import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { VERDICT_CODES } from '../../../../src/core/verdictCodes.ts';
import { FORMER_CODES } from '../../../../src/storage/sql/analytics/countColumns.ts';
import { sumStatement } from '../../../../src/storage/sql/analytics/fold.ts';
import { migrateAnalytics, APIS_OF_SLICES } from '../../../../src/storage/sqlite/analytics.ts';
import { attachAnalytics } from '../../../../src/storage/sqlite/file/openDatabase.ts';
import type { AnalyticsQuery } from '../../../../src/storage/port/analytics.ts';
import { TempFolder } from '../../../process/process.ts';

const MINUTE_MS = Date.parse('2026-03-15T12:00:00Z');
const NONE = FORMER_CODES.map(() => 0);

/** A file of version 1. Its rows: what is before the counts, the eight counts, the credits. */
function formerFile(): Database {
  const db = new Database(':memory:');
  migrateAnalytics(db, 0, { upTo: 1 });
  return db;
}

function put(db: Database, table: string, columns: string, ...rows: (string | number)[][]): void {
  const names = `${columns}, ${FORMER_CODES.join(', ')}, credits`.split(', ');
  const marks = names.map(() => '?').join(', ');
  for (const row of rows) db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`).run(...row);
}

test('a file of version 1: each count is a row with the number of its code, and what was added up is as before', () => {
  const db = formerFile();
  const all = [1, 2, 3, 4, 5, 6, 7, 8];
  put(
    db,
    'key_counts',
    'span, time_ms, api_id, key_id, identity_id, tags',
    [0, MINUTE_MS, 'api_1', 'key_1', 'id_1', '["a"]', ...all, 90],
    [1, MINUTE_MS, 'api_1', 'key_2', '', '', ...NONE, 7],
    [2, MINUTE_MS, 'api_1', 'key_3', '', '', ...NONE, 0],
  );
  put(db, 'api_counts', 'span, time_ms, api_id, tags', [2, MINUTE_MS, 'api_1', '["a"]', ...all, 90]);
  put(db, 'count_log', 'minute_ms, api_id, key_id, identity_id, tags, last_at_ms', [
    MINUTE_MS,
    'api_1',
    'key_4',
    '',
    '',
    MINUTE_MS + 5,
    2,
    ...NONE.slice(0, 5),
    3,
    0,
    4,
  ]);
  const told: string[] = [];
  migrateAnalytics(db, 1, { onPart: (table, done) => void told.push(`${table} ${done}`) });
  const rows = (sql: string): unknown[] => db.query(sql).values();
  expect(rows('SELECT * FROM key_verdicts ORDER BY span, code')).toEqual([
    ...all.map((n, code) => [0, MINUTE_MS, 'api_1', 'key_1', 'id_1', '["a"]', code, n, code === 0 ? 90 : 0]),
    [1, MINUTE_MS, 'api_1', 'key_2', '', '', 0, 0, 7],
  ]);
  expect(rows('SELECT * FROM api_verdicts ORDER BY code')).toEqual(
    all.map((n, code) => [2, MINUTE_MS, 'api_1', '["a"]', code, n, code === 0 ? 90 : 0]),
  );
  expect(rows('SELECT * FROM verdict_log ORDER BY code')).toEqual([
    [1, MINUTE_MS, 'api_1', 'key_4', '', '', 0, 2, 4, MINUTE_MS + 5],
    [2, MINUTE_MS, 'api_1', 'key_4', '', '', 6, 3, 0, MINUTE_MS + 5],
  ]);
  expect(told.filter((each) => each.endsWith('100 %'))).toEqual(['key_verdicts 100 %', 'api_verdicts 100 %']);
});

test('slices of version 1 are read as they were meant', () => {
  const db = formerFile();
  const apis = JSON.stringify([
    [MINUTE_MS, 'api_1', '', 1, 2, 3, 4, 5, 6, 7, 8, 90],
    [MINUTE_MS, 'api_2', '["a"]', 10, 0, 0, 0, 0, 0, 0, 0, 5],
  ]);
  db.query('INSERT INTO count_slices (apis, body) VALUES (?, ?)').run(apis, '{}');
  migrateAnalytics(db, 1);
  const asked = { span: 'minute', apiId: null, keyIds: null, identityIds: null, fromMs: 0, untilMs: 2 * MINUTE_MS };
  const { sql, params } = sumStatement({ ...asked, span: 'minute', groupBy: ['tags'] }, () => APIS_OF_SLICES);
  db.run('CREATE TABLE identities (id TEXT, external_id TEXT)');
  expect(db.query(sql).values(...params)).toEqual([
    ['', 1, 2, 3, 4, 5, 6, 7, 8, 90],
    ['["a"]', 10, 0, 0, 0, 0, 0, 0, 0, 5],
  ]);
});

test('the numbers of codes stay: rows are stored under them', () => {
  expect(VERDICT_CODES.slice(0, FORMER_CODES.length).map((code) => code.toLowerCase())).toEqual([...FORMER_CODES]);
});

test('progress is told for each tenth of the times', () => {
  const db = formerFile();
  const rows = Array.from({ length: 25 }, (_, i) => [0, MINUTE_MS + i * 60_000, 'api_1', '', 1, ...NONE]);
  put(db, 'api_counts', 'span, time_ms, api_id, tags', ...rows);
  const told: string[] = [];
  migrateAnalytics(db, 1, { onPart: (table, done) => void told.push(`${table} ${done}`) });
  expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((tenth) => `api_verdicts ${tenth}0 %`));
});

const DAY_MS = 86_400_000;

/** How SQLite finds the folded rows that a question is about. */
function planOf(query: Partial<AnalyticsQuery>): string {
  using folder = new TempFolder();
  const path = folder.join('analytics.db');
  using made = new Database(path, { create: true });
  migrateAnalytics(made);
  using db = new Database(':memory:');
  attachAnalytics(db, path);
  const { sql, params } = sumStatement(
    {
      span: 'hour',
      apiId: 'api_1',
      keyIds: null,
      identityIds: null,
      fromMs: 0,
      untilMs: DAY_MS,
      groupBy: [],
      ...query,
    },
    () => null,
  );
  const steps = db.query(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
  return steps.find(({ detail }) => /_verdicts/.test(detail))?.detail ?? '';
}

test('no question reads more of the sums than the rows of its time, its api or its keys', () => {
  const ofApi = 'SEARCH api_verdicts USING PRIMARY KEY (span=? AND time_ms=? AND api_id=?)';
  const ofKeys = 'SEARCH key_verdicts USING PRIMARY KEY (span=? AND time_ms=? AND api_id=?)';
  const ofKey = 'SEARCH key_verdicts USING INDEX key_verdicts_of_key (key_id=? AND span=? AND time_ms>? AND time_ms<?)';
  expect(planOf({})).toBe(ofApi);
  expect(planOf({ groupBy: ['key'] })).toBe(ofKeys);
  expect(planOf({ span: 'day', untilMs: 800 * DAY_MS })).toBe(ofApi);
  expect(planOf({ span: 'hour', keyIds: ['key_1'] })).toBe(ofKey);
  expect(planOf({ span: 'day', keyIds: ['key_1', 'key_2'], groupBy: ['time'] })).toBe(ofKey);
  expect(planOf({ span: 'minute', keyIds: ['key_1'] })).toBe(
    'SEARCH key_verdicts USING PRIMARY KEY (span=? AND time_ms=? AND api_id=? AND key_id=?)',
  );
});
