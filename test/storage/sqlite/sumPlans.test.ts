import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { migrateAnalytics } from '../../../src/storage/sqlite/analytics/analyticsFile.ts';
import { attachAnalytics } from '../../../src/storage/sqlite/file/openDatabase.ts';
import { sumStatement } from '../../../src/storage/sql/analytics/fold.ts';
import type { AnalyticsQuery } from '../../../src/storage/port/analytics.ts';
import { TempFolder } from '../../process/process.ts';

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
