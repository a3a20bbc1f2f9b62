import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { RECORD_TABLES } from '../../src/storage/postgres/schema/recordTables.ts';
import { strangeIn, type SchemaObject, SCHEMA_COLUMNS } from '../../src/storage/sqlite/backup/compareSchema.ts';
import { SCHEMA } from '../../src/storage/sqlite/file/schema.ts';

const FIXTURES = join(import.meta.dir, '../support/fixtures/schemas');

/** The statements of a schema without comments, with the columns of each table in alphabetical order. */
function statementsOf(schema: string): string[] {
  const statements = schema.replaceAll(/--[^\n]*/g, '').split(';');
  return statements.flatMap((statement) => {
    const words = statement.replaceAll(/\s+/g, ' ').trim();
    const [, head, columns = '', tail = ''] = /^(CREATE TABLE \w+) \((.*)\)(.*)$/.exec(words) ?? [];
    if (head === undefined) return words === '' ? [] : [words];
    const sorted = columns.split(/, (?![^(]*\))/).map((each) => each.trim());
    return [`${head} (${sorted.toSorted().join(', ')})${tail}`];
  });
}

describe('the columns that src/model declares are those that were written by hand', () => {
  test.each([
    ['sqlite.sql', SCHEMA],
    ['postgres.sql', RECORD_TABLES],
  ])('%s', (file, schema) => {
    const before = statementsOf(readFileSync(join(FIXTURES, file), 'utf8'));
    expect(before.length).toBeGreaterThan(30);
    expect(statementsOf(schema).toSorted()).toEqual(before.toSorted());
  });
});

describe('a table with its columns in another order', () => {
  const objectsOf = (sql: string): SchemaObject[] => {
    using db = new Database(':memory:');
    db.exec(sql);
    return db.query<SchemaObject, []>(`SELECT ${SCHEMA_COLUMNS} FROM sqlite_schema`).all();
  };
  const table = 'CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n IN (0, 1)), UNIQUE (id, n)) STRICT';
  const known = objectsOf(table);

  test('is the same table', () => {
    const other = 'CREATE TABLE t (n INTEGER NOT NULL CHECK (n IN (0, 1)), id TEXT PRIMARY KEY, UNIQUE (id, n)) STRICT';
    expect(strangeIn(objectsOf(other), known)).toBeNull();
  });

  test.each([
    ['another check', table.replace('(0, 1)', '(1, 0, 2)')],
    ['a check in another order', table.replace('(0, 1)', '(1, 0)')],
    ['a constraint in another order', table.replace('(id, n)', '(n, id)')],
    ['a constraint that is missing', table.replace(', UNIQUE (id, n)', '')],
    [
      'a constraint of another column',
      table.replace('INTEGER NOT NULL', 'INTEGER').replace('PRIMARY', 'NOT NULL PRIMARY'),
    ],
    ['another kind of table', `${table}, WITHOUT ROWID`],
  ])('with %s is another one', (_, sql) => {
    expect(strangeIn(objectsOf(sql), known)).toBe('has another table "t" than Keystile makes');
  });
});
