import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import { configure } from '../../../../src/storage/sqlite/file/openDatabase.ts';
import { DirectLog } from '../../../../src/storage/sqlite/writer/commit.ts';
import { TempFolder } from '../../../process/process.ts';

const COMMIT = new Float64Array([1, 0, 5, 0, 0, 1]);

let folder: TempFolder;
let path: string;
let db: Database;

beforeEach(() => {
  folder = new TempFolder();
  path = folder.join('keystile.db');
  db = new Database(path, { create: true });
  configure(db);
  db.run('CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT');
});

afterEach(() => {
  db.close();
  folder[Symbol.dispose]();
});

const numbers = (): unknown[] => db.query('SELECT number FROM ledger_log ORDER BY number').values().flat();

/** The connection that the log writes with. */
function connectionOf(open: () => DirectLog): { log: DirectLog; connection: Database } {
  const prepare = spyOn(Database.prototype, 'prepare');
  try {
    const log = open();
    return { log, connection: prepare.mock.contexts.at(-1) as Database };
  } finally {
    prepare.mockRestore();
  }
}

test('SQLite flushes every commit before it returns: synchronous is FULL, and stays so after commits', () => {
  const { log, connection } = connectionOf(() => new DirectLog({ path, addedFlushMs: 0 }));
  for (const number of [1, 2]) {
    expect(connection.query('PRAGMA synchronous').values()).toEqual([[2]]);
    log.append(number, COMMIT);
    expect(numbers().at(-1)).toBe(number);
    // The next commit begins the write-ahead log again.
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }
  expect(connection.query('PRAGMA synchronous').values()).toEqual([[2]]);
  log.close();
});

test('a commit does not wait for another program that holds the database', () => {
  const log = new DirectLog({ path, addedFlushMs: 0 });
  db.run('BEGIN IMMEDIATE');
  expect(() => log.append(1, COMMIT)).toThrow(expect.objectContaining({ kind: 'busy' }));
  db.run('ROLLBACK');
  log.append(1, COMMIT);
  expect(numbers()).toEqual([1]);
  log.close();
});
