import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';

import { configure } from '../../../../src/storage/sqlite/file/openDatabase.ts';
import { WriteFailure } from '../../../../src/storage/sqlite/file/writeFailure.ts';
import {
  SqliteThread,
  type ThreadReply,
  type ThreadCall,
  type ThreadStart,
} from '../../../../src/storage/sqlite/thread/threadClient.ts';
import { plainCommit } from '../plainCommit.ts';
import { TempFolder } from '../../../process/process.ts';
import { migrateAnalytics } from '../../../../src/storage/sqlite/analytics.ts';
import { SqliteWriter } from '../../../../src/storage/sqlite/thread/databaseThreads.ts';

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
  const worker = new Worker(new URL('../../../../src/storage/sqlite/thread/thread.ts', import.meta.url));
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
  const worker = new Worker(new URL('../../../../src/storage/sqlite/thread/thread.ts', import.meta.url));
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

const IS_LINUX = process.platform === 'linux';

/** The threads of this process that come after the others: only Linux has priorities for threads. */
function behind(): string[] {
  if (!IS_LINUX) return [];
  const own = getPriority(0);
  return readdirSync('/proc/self/task').filter((thread) => priorityOf(thread) > own);
}

/** Behind the name, which stands in brackets, the 17th value. A thread that has just ended has none. */
function priorityOf(thread: string): number {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  } catch {
    return -Infinity;
  }
}

test('the thread that writes the counts comes after the others, and the writer does not', async () => {
  using folder = new TempFolder();
  const path = folder.join('some.db');
  new Database(path, { create: true }).close();
  const before = new Set(behind());
  const moreBehind = (): number => behind().filter((thread) => !before.has(thread)).length;
  const start = (role: 'writer' | 'counts'): Promise<SqliteThread> =>
    SqliteThread.start({ role, path, addedFlushMs: 0 } satisfies ThreadStart, () => {});
  const writer = await start('writer');
  expect(moreBehind()).toBe(0);
  const counts = await start('counts');
  // The runtime's own threads take the priority of the thread that starts them, so there may be more than one.
  expect(moreBehind() > 0).toBe(IS_LINUX);
  await counts.close();
  await writer.close();
});

test('statements that come while a shared transaction is under way share the next one, and each hears of its own rows', async () => {
  using folder = new TempFolder();
  const path = folder.join('some.db');
  using db = new Database(path, { create: true });
  db.run('CREATE TABLE counts (name INTEGER, total INTEGER)');
  for (let name = 0; name < 10; name++) db.run('INSERT INTO counts VALUES (?, 0), (?, 0)', [name, name * 2]);
  const thread = await SqliteThread.start({ role: 'writer', path, addedFlushMs: 0 }, () => {});
  const sizes: number[] = [];
  const call = thread.call.bind(thread);
  const sql = 'UPDATE counts SET total = total + 1 WHERE name = $1';
  const add = (name: number) => writer.share({ sql, params: [name], expects: null });
  const during: Promise<number>[] = [];
  thread.call = (method, ...args) => {
    sizes.push((args[0] as readonly unknown[]).length);
    const answer = call(method, ...args);
    if (sizes.length === 1) during.push(add(8), add(9), add(20));
    return answer;
  };
  const writer = new SqliteWriter(thread);
  expect(await Promise.all([add(0), add(1), add(2), add(30)])).toEqual([2, 1, 2, 0]);
  expect(await Promise.all(during)).toEqual([2, 1, 0]);
  expect(await add(4)).toBe(2);
  expect(sizes).toEqual([4, 3, 1]);
  expect(db.query('SELECT sum(total) FROM counts').values()).toEqual([[10]]);
  thread.call = call;
  await thread.close();
});
