import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TABLE_NAMES, COUNTERS, DATA_TABLES, NOT_EXPORTED } from '../../../src/storage/sql/move/dataTables.ts';
import type { Ran } from '../../process/cli/cliRun.ts';
import { TempFolder } from '../../process/process.ts';
import { checkAdditions } from '../../support/fixtures/additions.ts';
import type { Additions } from '../../support/fixtures/databases.ts';
import { EVERYTHING, makeEverything } from '../../support/fixtures/everything.ts';
import { TestService } from '../../support/service.ts';
import { data, emptyDatabase, rowsOf } from './moved.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';

describe('a move to PostgreSQL and back', () => {
  let folder: TempFolder;
  let service: TestService;
  let additions: Additions;
  let exported: Ran;

  beforeAll(async () => {
    folder = new TempFolder();
    service = await TestService.start({ settings: EVERYTHING });
    additions = await makeEverything(service);
    // The service runs, and its last spends are only in the log.
    exported = await data(['export', folder.join('first')], { KEYSTILE_DATA: service.folder, KEYSTILE_PEPPER: PEPPER });
  });

  afterAll(async () => {
    await service.close();
    folder[Symbol.dispose]();
  });

  /** Only its presence counts here: an export reads no secret. */
  const PEPPER = 'v1:pepper-of-the-test-of-moves-0123456789';

  const FORMER = { key_verdicts: 'key_counts', api_verdicts: 'api_counts', verdict_log: 'count_log' };
  const CODES = 'valid not_found forbidden disabled expired insufficient_permissions rate_limited usage_exceeded'.split(
    ' ',
  );

  /** The export as format 1 was, where a row of counts had all codes. */
  function asFormat1(text: string): string {
    const [header = '', ...rows] = text.trimEnd().split('\n').slice(0, -1);
    const wide = new Map<string, Record<string, string | number>>();
    const lines = [
      Object.entries(FORMER).reduce(
        (line, [now, was]) => line.replace(`"${now}"`, `"${was}"`),
        header.replace('"format":2', '"format":1'),
      ),
    ];
    for (const line of rows) {
      const [table, row] = JSON.parse(line) as [string, Record<string, string | number>];
      const was = FORMER[table as keyof typeof FORMER];
      if (was === undefined) lines.push(line);
      else {
        const { code, count, credits, ...key } = row;
        // The log has a row for each slice that was unpacked.
        const name = JSON.stringify([was, key, was === 'count_log' ? wide.size : 0]);
        const known = wide.get(name) ?? { ...key, ...Object.fromEntries(CODES.map((each) => [each, 0])), credits: 0 };
        wide.set(name, {
          ...known,
          [CODES[Number(code)] ?? '']: count ?? 0,
          credits: Number(known['credits']) + Number(credits),
        });
      }
    }
    for (const was of Object.values(FORMER))
      for (const [name, row] of wide)
        if ((JSON.parse(name) as [string])[0] === was) lines.push(JSON.stringify([was, row]));
    const order = (JSON.parse(lines[0] ?? '') as { tables: string[] }).tables;
    const [head = '', ...body] = lines;
    const tableOf = (line: string): string => line.split('"')[1] ?? '';
    const sorted = [head, ...body.toSorted((a, b) => order.indexOf(tableOf(a)) - order.indexOf(tableOf(b)))];
    const counts: Record<string, number> = {};
    for (const line of sorted.slice(1)) counts[tableOf(line)] = (counts[tableOf(line)] ?? 0) + 1;
    const written = sorted.map((line) => `${line}\n`).join('');
    return `${written}${JSON.stringify({ rows: counts, sha256: new Bun.CryptoHasher('sha256').update(written).digest('hex') })}\n`;
  }

  test('begins with rows of every kind', () => {
    const kinds = new Set(rowsOf(folder.join('first')).map((line) => line.split('"')[1]));
    expect(TABLE_NAMES.filter((name) => !kinds.has(name))).toEqual([]);
  });

  test('says which secrets the new service needs', async () => {
    expect(exported.err).toBe(
      'The signing secrets of webhooks are encrypted with a key that is not in the export. ' +
        `Give it to the new service: KEYSTILE_ENCRYPTION_KEY="$(cat ${join(service.folder, 'encryption-key')})"\n` +
        'Keys are recognized only with the same KEYSTILE_PEPPER. It is not in the export.\n',
    );
    const { err } = await data(['import', folder.join('first')], { KEYSTILE_DATA: folder.join('other') });
    expect(err).toEndWith('\nWebhooks need the KEYSTILE_ENCRYPTION_KEY of the installation that was exported.\n');
  });

  test('leaves every record, balance, window count and line as it was', async () => {
    const database = await emptyDatabase();
    await data(['import', folder.join('first')], database);
    await data(['export', folder.join('second')], database);
    expect(rowsOf(folder.join('second'))).toEqual(rowsOf(folder.join('first')));
    await data(['import', folder.join('second')], { KEYSTILE_DATA: folder.join('back') });
    await data(['export', folder.join('third')], { KEYSTILE_DATA: folder.join('back') });
    expect(rowsOf(folder.join('third'))).toEqual(rowsOf(folder.join('first')));
    const back = await TestService.start({ folder: folder.join('back'), startsAt: service.clock.nowMs() });
    try {
      await checkAdditions(back, additions);
    } finally {
      await back.close();
    }
  });

  test('an export of format 1 leaves the same rows on both databases', async () => {
    writeFileSync(folder.join('former'), asFormat1(readFileSync(folder.join('first'), 'utf8')));
    expect(rowsOf(folder.join('former')).filter((line) => line.startsWith('["key_counts",')).length).toBeGreaterThan(0);
    const targets = [await emptyDatabase(), { KEYSTILE_DATA: folder.join('from former') }];
    for (const [i, target] of targets.entries()) {
      await data(['import', folder.join('former')], target);
      await data(['export', folder.join(`again ${i}`)], target);
      expect(rowsOf(folder.join(`again ${i}`)).toSorted()).toEqual(rowsOf(folder.join('first')).toSorted());
    }
  });
});

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
