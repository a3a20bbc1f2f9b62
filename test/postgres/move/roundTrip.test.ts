import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TABLE_NAMES } from '../../../src/storage/sql/move/dataTables.ts';
import { TempFolder } from '../../process/process.ts';
import { checkAdditions } from '../../support/fixtures/additions.ts';
import type { Additions } from '../../support/fixtures/databases.ts';
import { EVERYTHING, makeEverything } from '../../support/fixtures/everything.ts';
import { TestService } from '../../support/service.ts';
import { data, emptyDatabase, rowsOf } from './moved.ts';

let folder: TempFolder;
let service: TestService;
let additions: Additions;

beforeAll(async () => {
  folder = new TempFolder();
  service = await TestService.start({ settings: EVERYTHING });
  additions = await makeEverything(service);
  // The service runs, and its last spends are only in the log.
  await data(['export', folder.join('first')], { KEYSTILE_DATA: service.folder });
});

afterAll(async () => {
  await service.close();
  folder[Symbol.dispose]();
});

describe('a move to PostgreSQL and back', () => {
  test('begins with rows of every kind', () => {
    const kinds = new Set(rowsOf(folder.join('first')).map((line) => line.split('"')[1]));
    expect(TABLE_NAMES.filter((name) => !kinds.has(name))).toEqual([]);
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
});
