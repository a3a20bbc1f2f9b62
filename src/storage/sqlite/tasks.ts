import { statSync } from 'node:fs';

import { LONG_WAL_BYTES } from '../../core/health.ts';
import type { Task, TaskLog, Turn } from '../port/tasks.ts';
import { damageIn } from './file/inspectFolder.ts';
import { toWriteFailure, WriteFailure } from './file/writeFailure.ts';
import type { SqliteStorage } from './storage.ts';
import { SqliteThread } from './thread/threadClient.ts';

const WATCH_EVERY_MS = 30_000;

/** The first check for damage comes this long after a start, then one each day. */
const DAMAGE_TURN_MS = 10 * 60_000;
const TURNS_OF_A_DAY = 144;
/** A larger file is not checked: SQLite's log cannot be reused while a table is being read, and each GB takes two seconds or more. */
const MAX_CHECKED_BYTES = 4 * 2 ** 30;
/** The rest after each table, as a multiple of the time that it took. */
const REST = 9;

type Watched = Pick<SqliteStorage, 'walBytes' | 'damaged' | 'files'>;

/** Background tasks of the embedded database. */
export function sqliteTasks(
  storage: Watched,
  { log, monotonicMs }: { readonly log: TaskLog; readonly monotonicMs: () => number },
): Task[] {
  const watch = new WalWatch(() => storage.walBytes, log);
  let turns = 0;
  return [
    { name: 'watching the log of the database', everyMs: WATCH_EVERY_MS, run: async () => watch.look() },
    {
      name: 'looking for damage in the database',
      everyMs: DAMAGE_TURN_MS,
      run: async (turn) => {
        if (turns++ % TURNS_OF_A_DAY === 0) await lookForDamage(storage, turn, monotonicMs);
      },
    },
  ];
}

/** Reads both files table by table, in a thread with a lower priority, to find damage before a request needs the page. */
async function lookForDamage({ damaged, files }: Watched, turn: Turn, monotonicMs: () => number): Promise<void> {
  const thread = await SqliteThread.start({ role: 'copier', ...files }, () => {});
  const ask = (sql: string): Promise<unknown[]> => thread.call('query', { sql, params: [] });
  try {
    for (const { file, check } of [
      ...(await checksOf('main', files.path, ask)),
      ...(await checksOf('analytics', files.analyticsPath, ask)),
    ]) {
      const startedAtMs = monotonicMs();
      const failure = await ask(check).then(toFailure, toWriteFailure);
      if (failure !== null && !damaged.note(file, failure)) throw failure;
      if (!(await turn.rest((monotonicMs() - startedAtMs) * REST))) return;
    }
  } finally {
    await thread.close();
  }
}

/** A statement for each table of the file. */
async function checksOf(
  schema: string,
  file: string,
  ask: (sql: string) => Promise<unknown[]>,
): Promise<readonly { readonly file: string; readonly check: string }[]> {
  if (statSync(file).size > MAX_CHECKED_BYTES) return [];
  const tables = await ask(`SELECT name FROM ${schema}.sqlite_schema WHERE type = 'table' AND rootpage > 0`);
  return (tables as { name: string }[]).map(({ name }) => ({ file, check: `PRAGMA ${schema}.quick_check('${name}')` }));
}

function toFailure(rows: readonly unknown[]): WriteFailure | null {
  const found = damageIn(rows);
  return found === null ? null : new WriteFailure('damaged', found);
}

const MIB = 2 ** 20;

/** Warns when the write-ahead log of the database becomes long, and says when it is short again. */
export class WalWatch {
  readonly #bytes: () => number;
  readonly #log: Pick<TaskLog, 'warn'>;
  #isLong = false;

  constructor(bytes: () => number, log: Pick<TaskLog, 'warn'>) {
    this.#bytes = bytes;
    this.#log = log;
  }

  look(): void {
    const bytes = this.#bytes();
    const isLong = bytes > LONG_WAL_BYTES;
    if (isLong === this.#isLong) return;
    this.#isLong = isLong;
    const what = isLong
      ? 'a write-ahead log (keystile.db-wal or analytics.db-wal) keeps growing: another program, such as a backup or a shell, has been reading the database for a long time; end it before the disk is full'
      : 'the write-ahead log of the database was reset';
    this.#log.warn(what, { mebibytes: Math.round(bytes / MIB) });
  }
}
