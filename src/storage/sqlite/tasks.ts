import type { Task, TaskLog } from '../port/tasks.ts';
import { WalWatch } from './file/walWatch.ts';
import type { SqliteStorage } from './storage.ts';

const WATCH_EVERY_MS = 30_000;

/** Background tasks of the embedded database. */
export function sqliteTasks(storage: Pick<SqliteStorage, 'walBytes'>, log: TaskLog): Task[] {
  const watch = new WalWatch(() => storage.walBytes, log);
  return [{ name: 'watching the log of the database', everyMs: WATCH_EVERY_MS, run: async () => watch.look() }];
}
