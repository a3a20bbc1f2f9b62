import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { prepareAnalytics } from '../../src/storage/sqlite/analyticsFile.ts';
import { configure } from '../../src/storage/sqlite/configure.ts';
import { SqliteThread } from '../../src/storage/sqlite/threadClient.ts';
import { TempFolder } from '../e2e/process.ts';

test('of what was asked of a thread behind a call that broke it nothing is done: it was refused, and is asked of another', async () => {
  using folder = new TempFolder();
  const path = folder.join('analytics.db');
  using db = new Database(path, { create: true });
  configure(db);
  prepareAnalytics(db, path);
  db.run('ALTER TABLE tally_log RENAME TO gone');
  const append = { sql: 'INSERT INTO tally_slices (body) VALUES ($1)', params: ['{}'] };
  const broken: string[] = [];
  const thread = await SqliteThread.start({ role: 'writer', path, addedFlushMs: 0 }, ({ message }) =>
    broken.push(message),
  );
  await thread.call('write', [append]);
  const calls = [thread.call('foldTallies'), ...Array.from({ length: 50 }, () => thread.call('write', [append]))];
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
  expect(broken).toEqual(['SQLITE_ERROR: no such table: tally_log']);
  const after = await SqliteThread.start({ role: 'writer', path, addedFlushMs: 0 }, () => {});
  await after.call('write', [append]);
  expect(db.query('SELECT count(*) AS rows FROM tally_slices').get()).toEqual({ rows: 2 });
  await after.close();
});
