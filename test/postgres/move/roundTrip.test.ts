import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { join } from 'node:path';

import { TABLE_NAMES } from '../../../src/storage/sql/move/dataTables.ts';
import type { Ran } from '../../process/cli/cliRun.ts';
import { TempFolder } from '../../process/process.ts';
import { checkAdditions } from '../../support/fixtures/additions.ts';
import type { Additions } from '../../support/fixtures/databases.ts';
import { EVERYTHING, makeEverything } from '../../support/fixtures/everything.ts';
import { TestService } from '../../support/service.ts';
import { data, emptyDatabase, rowsOf } from './moved.ts';

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

describe('a move to PostgreSQL and back', () => {
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
});
