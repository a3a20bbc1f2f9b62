import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { RECORD_TABLES } from '../../src/storage/postgres/schema/tables.ts';
import { SCHEMA_COLUMNS, type SchemaObject, strangeIn } from '../../src/storage/sqlite/backup/inspectCopy.ts';
import { ROLES } from '../../src/model/access.ts';
import { OVERRIDES } from '../../src/model/overrides.ts';
import { RECORDS } from '../../src/model/records.ts';
import { addedColumns, columnsText, flag, key, optionalText, recordTable, rowReader } from '../../src/model/columns.ts';
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
    const names = RECORDS.map(({ name }) => `CREATE TABLE ${name} `);
    const derived = statementsOf(schema).filter((each) => names.some((name) => each.startsWith(name)));
    expect(before.length).toBe(RECORDS.length);
    expect(derived.toSorted()).toEqual(before.toSorted());
  });
});

test('columns of a later schema version are added to a table that exists, in the version that each database says', () => {
  const table = recordTable('things', {
    id: key('id'),
    label: optionalText('label', { since: { sqlite: 2, postgres: 4 } }),
    isOn: flag('is_on', { since: { sqlite: 2, postgres: 4 }, constraint: ' DEFAULT 0' }),
    later: optionalText('later', { since: { sqlite: 3, postgres: 5 } }),
  });
  const types = { text: 'TEXT', number: 'INTEGER', small: 'INTEGER' };
  const dialect = { engine: 'sqlite', types } as const;
  using db = new Database(':memory:');
  db.exec(`CREATE TABLE things (${columnsText(table, dialect)}) STRICT`);
  db.exec("INSERT INTO things (id) VALUES ('a')");
  const added = addedColumns([table], dialect);
  expect([...added.keys()]).toEqual([2, 3]);
  expect([...addedColumns([table], { engine: 'postgres', types }).keys()]).toEqual([4, 5]);
  for (const statements of added.values()) db.exec(statements);
  const row = db.query('SELECT * FROM things').get() as object;
  expect(row).toEqual({ id: 'a', label: null, is_on: 0, later: null });
  expect(rowReader(table)(row)).toEqual({ id: 'a', label: null, isOn: false, later: null });
});

test('a later column that rows which exist cannot have is refused', () => {
  const since = { sqlite: 2, postgres: 4 };
  const types = { text: 'TEXT', number: 'INTEGER', small: 'INTEGER' };
  for (const field of [flag('is_on', { since }), optionalText('slug', { since, constraint: ' UNIQUE' })])
    expect(() => addedColumns([recordTable('things', { field })], { engine: 'sqlite', types })).toThrow(
      'is added to rows that exist: it must be optional, or have a default.',
    );
});

test('a cell that is damaged is named by its column, and a flag is on only where it is 1', () => {
  const row = { id: 'a', rights: '[]', enabled: 1 };
  expect(() => rowReader(ROLES)({ ...row, permissions: '{"half"' })).toThrow('permissions cannot be read');
  const readOverride = rowReader(OVERRIDES);
  for (const [cell, isOn] of [
    [0, false],
    [1, true],
    [2, false],
    [null, false],
    [undefined, false],
  ] as const)
    expect(readOverride({ async: cell }).async).toBe(isOn);
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
