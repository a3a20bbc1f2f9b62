import { Database } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

import { fromLog } from '../../../src/storage/sqlite/loggedBytes.ts';

/** Read in another way, or of no interest: where the log is folded to, and which account number comes next. */
const NOT_READ = ['accounts', 'ledger_log', 'installation', 'sqlite_sequence'];

type Row = Record<string, unknown>;

type Contents = Readonly<Record<string, readonly unknown[]>>;

/** What was read last, of which folder and at which commit. */
let last: { readonly folder: string; readonly commit: Buffer; readonly contents: Contents } | null = null;

/** Everything that is committed in a data folder, read beside the running service. Nothing is read twice. */
export function storedIn(folder: string): Contents {
  const commit = commitOf(folder);
  if (commit !== null && last?.folder === folder && last.commit.equals(commit)) return last.contents;
  const contents = readTables(folder);
  last = commit === null ? null : { folder, commit, contents };
  return contents;
}

/** The head of SQLite's index of its log, with a number that every commit changes. Read before the tables are. */
function commitOf(folder: string): Buffer | null {
  const path = join(folder, 'keystile.db-shm');
  if (!existsSync(path)) return null;
  const index = openSync(path, 'r');
  const head = Buffer.alloc(48);
  readSync(index, head);
  closeSync(index);
  return head;
}

function readTables(folder: string): Contents {
  const db = new Database(join(folder, 'keystile.db'), { readonly: true });
  try {
    const named = db.query("SELECT name FROM sqlite_master WHERE type = 'table'").values() as [string][];
    const names = named.map(([name]) => name).filter((name) => !NOT_READ.includes(name));
    const tables = names.map((table) => [table, db.query(`SELECT * FROM ${table}`).all()] as const);
    return Object.fromEntries([...tables, ['accounts', accounts(db)] as const]);
  } finally {
    db.close();
  }
}

/** The table and the log behind it as one: when the log is folded into the table is nobody's business. */
function accounts(db: Database): unknown[] {
  const contents = db.transaction(() => ({
    rows: db.query('SELECT id, kind, value, mark, due_at_ms, revision FROM accounts').values() as number[][],
    log: db.query('SELECT entries FROM ledger_log ORDER BY number').all() as Row[],
  }))();
  const states = new Map(contents.rows.map((row) => [row[0], row]));
  for (const { entries } of contents.log) {
    const logged = [...fromLog(entries as Uint8Array)];
    for (let at = 0; at < logged.length; at += 6) states.set(logged[at], logged.slice(at, at + 6));
  }
  return [...states.values()].filter(([, kind]) => kind !== -1).sort(([a = 0], [b = 0]) => a - b);
}
