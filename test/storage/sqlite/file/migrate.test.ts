import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { migrate, readSchemaVersion } from '../../../../src/storage/sqlite/file/migrate.ts';

const FIRST = 'CREATE TABLE records (id INTEGER PRIMARY KEY) STRICT; INSERT INTO records VALUES (1);';
const SECOND = 'ALTER TABLE records ADD COLUMN note TEXT; INSERT INTO records VALUES (2, NULL);';
const FAILING = `INSERT INTO records VALUES (3, NULL); ALTER TABLE no_such_table ADD COLUMN note TEXT;`;

let db: Database;

beforeEach(() => {
  db = new Database(':memory:');
});

afterEach(() => db.close());

const records = (): unknown[] => db.query('SELECT id FROM records ORDER BY id').values().flat();

test('a new database gets every version, each once', () => {
  migrate(db, { migrations: [FIRST, SECOND] });
  migrate(db, { migrations: [FIRST, SECOND] });
  expect([readSchemaVersion(db), records()]).toEqual([2, [1, 2]]);
});

test('a database of the first version gets the second one, and keeps its records', () => {
  migrate(db, { migrations: [FIRST] });
  db.run('INSERT INTO records VALUES (10)');
  migrate(db, { migrations: [FIRST, SECOND] });
  expect([readSchemaVersion(db), records()]).toEqual([2, [1, 2, 10]]);
});

test('a version that fails undoes those before it too: the older program can go on, and so can the next start', () => {
  migrate(db, { migrations: [FIRST] });
  expect(() => migrate(db, { migrations: [FIRST, SECOND, FAILING] })).toThrow('no such table: no_such_table');
  expect([readSchemaVersion(db), records()]).toEqual([1, [1]]);
  migrate(db, { migrations: [FIRST, SECOND, 'INSERT INTO records VALUES (3, NULL);'] });
  expect([readSchemaVersion(db), records()]).toEqual([3, [1, 2, 3]]);
});

test('every step is told before it begins', () => {
  migrate(db, { migrations: [FIRST] });
  const told: unknown[] = [];
  const onStep = (...step: number[]): void => void told.push([...step, records().length]);
  migrate(db, { migrations: [FIRST, SECOND, 'INSERT INTO records VALUES (3, NULL);'], onStep });
  expect(told).toEqual([
    [1, 2, 1],
    [2, 2, 2],
  ]);
});
