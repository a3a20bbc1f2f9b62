import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import { COUNTERS, DATA_TABLES, NOT_EXPORTED } from '../../../src/storage/sql/move/dataTables.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';
import { TestService } from '../../support/service.ts';

/** A column as a database has it. */
interface Column {
  readonly table: string;
  readonly column: string;
  readonly kind: 'text' | 'number';
  readonly isOptional: boolean;
}

/** A new column has to be exported, or named with the reason why it is not. */
function expectExported(found: readonly Column[]): void {
  expect(found.length).toBeGreaterThan(200);
  const isLeftOut = ({ table, column }: Column): boolean =>
    table in NOT_EXPORTED || `${table}.${column}` in NOT_EXPORTED;
  const exported = DATA_TABLES.filter((table) => table !== COUNTERS).flatMap(({ name, columns }) =>
    [...columns].map(([column, { kind, isOptional }]) => ({ table: name, column, kind, isOptional })),
  );
  expect(found.filter((each) => !isLeftOut(each)).sort(byName)).toEqual(exported.sort(byName));
}

function byName(a: Column, b: Column): number {
  return `${a.table}.${a.column}` < `${b.table}.${b.column}` ? -1 : 1;
}

async function columnsOfSqlite(): Promise<Column[]> {
  const service = await TestService.start();
  try {
    return ['keystile.db', 'analytics.db'].flatMap((file) => {
      using db = new Database(join(service.folder, file), { readonly: true });
      return db
        .query(
          `SELECT t.name AS "table", c.name AS "column", iif(c.type = 'INTEGER', 'number', 'text') AS kind, c."notnull" OR c.pk > 0 AS isRequired
             FROM pragma_table_list t, pragma_table_info(t.name) c WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%'`,
        )
        .all()
        .map((row) => toColumn(row as RawColumn));
    });
  } finally {
    await service.close();
  }
}

interface RawColumn extends Omit<Column, 'isOptional'> {
  readonly isRequired: unknown;
}

function toColumn({ table, column, kind, isRequired }: RawColumn): Column {
  return { table, column, kind, isOptional: Number(isRequired) === 0 };
}

async function columnsOfPostgres(): Promise<Column[]> {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await (await openStorage(url)).close();
  const rows = await server.query(
    `SELECT table_name AS "table", column_name AS "column", is_nullable = 'NO' AS "isRequired",
       CASE WHEN data_type IN ('bigint', 'integer', 'smallint') THEN 'number' ELSE 'text' END AS kind
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    new URL(url).pathname.slice(1),
  );
  return rows.map((row) => toColumn(row as unknown as RawColumn));
}

test('every column of the embedded database is exported, or named with a reason', async () => {
  expectExported(await columnsOfSqlite());
});

test('every column of PostgreSQL is exported, or named with a reason', async () => {
  expectExported(await columnsOfPostgres());
});

test('no reason is left for what neither database has', async () => {
  const found = [...(await columnsOfSqlite()), ...(await columnsOfPostgres())];
  const names = new Set(found.flatMap(({ table, column }) => [table, `${table}.${column}`]));
  expect(Object.keys(NOT_EXPORTED).filter((name) => !names.has(name))).toEqual([]);
});
