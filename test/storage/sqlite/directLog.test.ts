import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { fstatSync, statSync, symlinkSync, writeFileSync } from 'node:fs';

import { configure } from '../../../src/storage/sqlite/file/openDatabase.ts';
import { DirectLog } from '../../../src/storage/sqlite/log/directLog.ts';
import { WriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import { TempFolder } from '../../process/process.ts';

const COMMIT = new Float64Array([1, 0, 5, 0, 0, 1]);

let folder: TempFolder;
let path: string;
let db: Database;

beforeEach(() => {
  folder = new TempFolder();
  path = folder.join('keystile.db');
  db = new Database(path, { create: true });
  configure(db);
  db.run('CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries ANY NOT NULL) STRICT');
});

afterEach(() => {
  db.close();
  folder[Symbol.dispose]();
});

const numbers = (): unknown[] => db.query('SELECT number FROM ledger_log ORDER BY number').values().flat();

test('a commit is flushed when all of it is written, in the file that it was written to, and told of behind that', () => {
  const seen: unknown[] = [];
  const log = new DirectLog({ path, addedFlushMs: 0 }, (descriptor) => {
    seen.push([numbers(), fstatSync(descriptor).ino === statSync(`${path}-wal`).ino]);
  });
  log.append(1, COMMIT);
  seen.push('told');
  // The log begins anew in the same file.
  db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  log.append(2, COMMIT);
  expect(seen).toEqual([[[1], true], 'told', [[1, 2], true]]);
  log.close();
});

test('a flush that fails leaves it open what is on the disk, whatever the reason is', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  const log = new DirectLog({ path, addedFlushMs: 0 }, () => {
    throw full;
  });
  let failure: unknown = null;
  try {
    log.append(1, COMMIT);
  } catch (error) {
    failure = error;
  }
  log.close();
  expect(failure).toBeInstanceOf(WriteFailure);
  expect(failure).toMatchObject({ kind: 'broken', message: full.message });
});

test('where the database is a link, the log beside the file that it leads to is flushed, whatever lies beside the link', () => {
  const link = folder.join('link.db');
  symlinkSync(path, link);
  writeFileSync(`${link}-wal`, 'left over');
  let flushed = 0;
  const log = new DirectLog({ path: link, addedFlushMs: 0 }, (descriptor) => {
    flushed = fstatSync(descriptor).ino;
  });
  log.append(1, COMMIT);
  expect(flushed).toBe(statSync(`${path}-wal`).ino);
  log.close();
});

test('where flushing is left to SQLite, a commit is written all the same', () => {
  const log = new DirectLog({ path, addedFlushMs: 0 }, null);
  log.append(1, COMMIT);
  expect(numbers()).toEqual([1]);
  log.close();
});
