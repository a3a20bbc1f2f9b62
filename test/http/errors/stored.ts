import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { fromLog } from '../../../src/storage/sqlite/log/logBytes.ts';

/** Read in another way, or of no interest: where the log is folded to, and which account number comes next. */
const NOT_READ = ['accounts', 'ledger_log', 'installation', 'sqlite_sequence'];

type Row = Record<string, unknown>;

/** Everything that is committed in a data folder, read beside the running service. */
export function storedIn(folder: string): Record<string, unknown[]> {
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
  const read = db.transaction(() => ({
    rows: db.query('SELECT id, kind, value, mark, due_at_ms, revision FROM accounts').values() as number[][],
    log: db.query('SELECT entries FROM ledger_log ORDER BY number').all() as Row[],
  }))();
  const states = new Map(read.rows.map((row) => [row[0], row]));
  for (const { entries } of read.log) {
    const logged = [...fromLog(entries as Uint8Array)];
    for (let at = 0; at < logged.length; at += 6) states.set(logged[at], logged.slice(at, at + 6));
  }
  return [...states.values()].filter(([, kind]) => kind !== -1).sort(([a = 0], [b = 0]) => a - b);
}
