import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';

import { SqliteThread, type ThreadStart } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { TempFolder } from '../../process/process.ts';

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
