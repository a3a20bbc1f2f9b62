import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { migrateAnalytics } from '../../../src/storage/sqlite/analytics/analyticsFile.ts';
import { configure } from '../../../src/storage/sqlite/file/openDatabase.ts';
import type { ThreadCall, ThreadReply } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { TempFolder } from '../../process/process.ts';

test('of what was asked of a thread behind a call that broke it nothing is done: it is refused, and asked of another', async () => {
  using folder = new TempFolder();
  const path = folder.join('analytics.db');
  using db = new Database(path, { create: true });
  configure(db);
  migrateAnalytics(db);
  db.run('ALTER TABLE verdict_log RENAME TO gone');
  const append: ThreadCall = {
    method: 'write',
    args: [[{ sql: 'INSERT INTO count_slices (apis, body) VALUES ($1, $2)', params: ['[]', '{}'] }]],
  };
  const calls: ThreadCall[] = [
    { method: 'start', args: [{ role: 'writer', path, addedFlushMs: 0 }] },
    append,
    { method: 'foldCounts', args: [] },
    append,
    append,
  ];
  const replies: ThreadReply[] = [];
  // The thread itself, which nobody ends at the first failure.
  const worker = new Worker(new URL('../../../src/storage/sqlite/thread/thread.ts', import.meta.url));
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.onmessage = (event: MessageEvent<ThreadReply>) => {
    if (replies.push(event.data) === calls.length) resolve();
  };
  for (const call of calls) worker.postMessage(call);
  await promise;
  // SQLite lets nobody leave the write-ahead log while another connection has the file open.
  expect(db.query('PRAGMA journal_mode = DELETE').get()).toEqual({ journal_mode: 'delete' });
  worker.terminate();
  expect(replies.map((reply) => (reply.ok ? 'done' : reply.kind))).toEqual([
    'done',
    'done',
    'broken',
    'broken',
    'broken',
  ]);
  expect(db.query('SELECT count(*) AS rows FROM count_slices').get()).toEqual({ rows: 1 });
});
