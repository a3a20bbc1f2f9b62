import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { configure } from '../../../src/storage/sqlite/file/openDatabase.ts';
import { WriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import { SqliteThread, type ThreadReply } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { plainCommit } from './plainCommit.ts';
import { TempFolder } from '../../process/process.ts';

const COMMIT = new Float64Array([1, 0, 5, 0, 0, 1]);

function makeDatabase(path: string): Database {
  const db = new Database(path, { create: true });
  configure(db);
  db.run('CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT');
  return db;
}

test('a thread that has let go and is ended brings no page of the log into the database', async () => {
  using folder = new TempFolder();
  const path = folder.join('keystile.db');
  using db = makeDatabase(path);
  const worker = new Worker(new URL('../../../src/storage/sqlite/thread/thread.ts', import.meta.url));
  const replies: ThreadReply[] = [];
  const told = Promise.withResolvers<void>();
  worker.onmessage = (event: MessageEvent<ThreadReply>) => {
    if (replies.push(event.data) === 4) told.resolve();
  };
  const ended = new Promise((resolve) => worker.addEventListener('close', resolve));
  worker.postMessage({ method: 'start', args: [{ role: 'writer', path, addedFlushMs: 0 }] });
  worker.postMessage({ method: 'commit', args: [plainCommit(1, COMMIT)] });
  worker.postMessage({ method: 'letGo', args: [] });
  worker.postMessage({ method: 'commit', args: [plainCommit(2, COMMIT)] });
  await told.promise;
  const before = readFileSync(path);
  worker.terminate();
  await ended;
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(replies.map((reply) => (reply.ok ? 'done' : reply.kind))).toEqual(['done', 'done', 'broken', 'broken']);
  expect(db.query('SELECT number FROM ledger_log').values()).toEqual([[1]]);
});

/** The worker that a thread is made of, as soon as there is one. */
async function workerOf(
  start: () => Promise<SqliteThread>,
): Promise<{ thread: SqliteThread; ended: Promise<unknown> }> {
  const Original = globalThis.Worker;
  const made = Promise.withResolvers<Worker>();
  globalThis.Worker = class extends Original {
    constructor(...given: ConstructorParameters<typeof Original>) {
      super(...given);
      made.resolve(this);
    }
  };
  const thread = await start().finally(() => (globalThis.Worker = Original));
  const worker = await made.promise;
  return { thread, ended: new Promise((resolve) => worker.addEventListener('close', resolve)) };
}

test('a thread that is given up because of a failure elsewhere refuses everything, tells it once, and writes nothing', async () => {
  using folder = new TempFolder();
  const path = folder.join('keystile.db');
  using db = makeDatabase(path);
  const broken: WriteFailure[] = [];
  const { thread, ended } = await workerOf(() =>
    SqliteThread.start({ role: 'writer', path, addedFlushMs: 0 }, (failure) => broken.push(failure)),
  );
  await thread.call('commit', plainCommit(1, COMMIT));
  const before = readFileSync(path);
  const failure = new WriteFailure('broken', 'SQLITE_IOERR_FSYNC');
  thread.breakDown(failure);
  thread.breakDown(new WriteFailure('broken', 'another'));
  expect(broken).toEqual([failure]);
  expect(await thread.call('commit', plainCommit(2, COMMIT)).catch((error: unknown) => error)).toBe(failure);
  await ended;
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(db.query('SELECT number FROM ledger_log').values()).toEqual([[1]]);
});
