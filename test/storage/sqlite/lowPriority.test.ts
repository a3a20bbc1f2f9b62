import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';

import { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';
import type { ThreadStart } from '../../../src/storage/sqlite/thread/threadMessages.ts';
import { TempFolder } from '../../process/process.ts';

const IS_LINUX = process.platform === 'linux';

/** How many threads of this process come after the others: only Linux has priorities for threads. */
function behind(): number {
  if (!IS_LINUX) return 0;
  const own = getPriority(0);
  return readdirSync('/proc/self/task').filter((thread) => priorityOf(thread) > own).length;
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

test('the thread that writes the counts comes after the others, and no other does', async () => {
  using folder = new TempFolder();
  const path = folder.join('some.db');
  new Database(path, { create: true }).close();
  const before = behind();
  const start = (role: 'writer' | 'counts'): Promise<SqliteThread> =>
    SqliteThread.start({ role, path, addedFlushMs: 0 } satisfies ThreadStart, () => {});
  const writer = await start('writer');
  expect(behind()).toBe(before);
  const counts = await start('counts');
  expect(behind()).toBe(IS_LINUX ? before + 1 : before);
  await counts.close();
  await writer.close();
});
