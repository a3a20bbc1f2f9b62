import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import {
  endsWriting,
  isDamage,
  toWriteFailure,
  WriteFailure,
} from '../../../../src/storage/sqlite/file/writeFailure.ts';
import { TempFolder } from '../../../process/process.ts';

const failureOf = (code: string): WriteFailure => toWriteFailure(Object.assign(new Error('it failed'), { code }));

test.each([
  ['SQLITE_FULL', 'full'],
  ['ENOSPC', 'full'],
  ['SQLITE_BUSY_SNAPSHOT', 'busy'],
  ['EMFILE', 'unopened'],
  ['ENFILE', 'unopened'],
  ['SQLITE_CANTOPEN', 'unopened'],
  ['SQLITE_CONSTRAINT_UNIQUE', 'refused'],
  ['SQLITE_IOERR_FSYNC', 'broken'],
  ['EIO', 'broken'],
  ['', 'broken'],
] as const)('%s is %s', (code, kind) => {
  expect(failureOf(code).kind).toBe(kind);
});

test.each([
  ['SQLITE_CORRUPT', 'damaged', true],
  ['SQLITE_CORRUPT_INDEX', 'damaged', true],
  ['SQLITE_NOTADB', 'damaged', true],
  ['SQLITE_IOERR_READ', 'damaged', true],
  ['SQLITE_IOERR_SHORT_READ', 'damaged', true],
  ['SQLITE_IOERR_FSYNC', 'broken', true],
  ['SQLITE_IOERR_WRITE', 'broken', true],
  ['SQLITE_IOERR_NOMEM', 'broken', true],
  ['SQLITE_ERROR', 'broken', false],
] as const)('%s is %s, and ends writing', (code, kind, isOfDisk) => {
  const error = Object.assign(new Error('of SQLite'), { code });
  expect([toWriteFailure(error).kind, isDamage(error), endsWriting(kind)]).toEqual([kind, isOfDisk, true]);
});

test('a file that SQLite cannot open is neither damage nor a failed disk', () => {
  using folder = new TempFolder();
  let failure: unknown = null;
  try {
    const db = new Database(folder.join('no/such.db'), { readwrite: true, create: true });
    db.close();
  } catch (error) {
    failure = error;
  }
  expect([isDamage(failure), toWriteFailure(failure).kind]).toEqual([false, 'unopened']);
});
