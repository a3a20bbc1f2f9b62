import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { SqliteWriter } from '../../../src/storage/sqlite/thread/databaseThreads.ts';
import { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { TempFolder } from '../../process/process.ts';

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
