import { afterAll, beforeAll, expect, test } from 'bun:test';

import { keystile } from '../../process/cli/cliRun.ts';
import { TempFolder } from '../../process/process.ts';
import { TestService } from '../../support/service.ts';
import { sharedServer } from '../../support/cluster/faultLab.ts';
import { data, onDatabase, stoppedDatabase } from './moved.ts';

const ROLE = 'data_without_rights';
const DENIED =
  /^The database refused \(.+ \[42501\]\)\. Connect as the role that owns the tables\. In an empty database, give this role the right to create tables\.\n$/;
const OTHER = String.raw`\)\. Its tables are not those of Keystile\. Check KEYSTILE_DATABASE_URL\.\n$`;
const MISSING_COLUMN = new RegExp(String.raw`^The database refused \(.+ \[42703\]${OTHER}`);
const REFUSED_VALUE = new RegExp(String.raw`^The database refused \(.+ \[22P02\]${OTHER}`);
const TAKEN_NAME = new RegExp(String.raw`^The database refused \(.+ \[42P07\]${OTHER}`);

afterAll(async () => {
  await (await sharedServer()).query(`DROP ROLE IF EXISTS ${ROLE}`);
});

beforeAll(async () => {
  await (await sharedServer()).query(`CREATE ROLE ${ROLE} LOGIN`);
});

/** A database of Keystile, for a role that owns none of its tables. */
async function databaseOfAnother() {
  const { url, note, query } = await stoppedDatabase();
  return { note, query, environment: onDatabase(Object.assign(new URL(url), { username: ROLE }).href) };
}

/** Settings of a database in which another program has a table. */
async function databaseWith(table: string, columns = 'id integer'): Promise<Readonly<Record<string, string>>> {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await server.query(`CREATE TABLE ${table} (${columns})`, new URL(url).pathname.slice(1));
  return onDatabase(url);
}

test('an export or a release by a role without rights names the role that is needed', async () => {
  using folder = new TempFolder();
  const { environment } = await databaseOfAnother();
  for (const words of [
    ['export', folder.join('export')],
    ['release', '--yes'],
  ])
    expect(await keystile(['data', ...words], { environment })).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(DENIED),
    });
});

test('a move by a role that may read nothing, or only read, holds nothing and does not tell to release anything', async () => {
  using folder = new TempFolder();
  const { environment, note, query } = await databaseOfAnother();
  for (const grant of ['SELECT 1', `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${ROLE}`]) {
    await query(grant);
    const { code, err } = await keystile(['data', 'export', folder.join('export'), '--move'], { environment });
    expect([code, err]).toEqual([1, expect.stringMatching(DENIED)]);
    expect(await note()).toBeUndefined();
  }
  await query(`DROP OWNED BY ${ROLE}`);
});

test('a role that may use no schema is told so, and not that the database is empty', async () => {
  using folder = new TempFolder();
  const { environment, query } = await databaseOfAnother();
  await query('REVOKE ALL ON SCHEMA public FROM PUBLIC');
  for (const words of [
    ['export', folder.join('export')],
    ['export', folder.join('export'), '--move'],
    ['release', '--yes'],
  ]) {
    const { code, err } = await keystile(['data', ...words], { environment });
    expect([code, err]).toEqual([1, expect.stringContaining(`The role ${ROLE} can use no schema of its search_path `)]);
  }
});

test('a database of another program is not to be tried again', async () => {
  using folder = new TempFolder();
  const service = await TestService.start();
  await data(['export', folder.join('export')], { KEYSTILE_DATA: service.folder });
  await service.close();
  const ofName = await databaseWith('installation');
  const exported = await keystile(['data', 'export', folder.join('new'), '--move'], { environment: ofName });
  const released = await keystile(['data', 'release', '--yes'], { environment: ofName });
  const words = ['data', 'import', folder.join('export'), '--accept'];
  const imported = await keystile(words, { environment: await databaseWith('keys') });
  const ofValues = await databaseWith('installation', 'name text PRIMARY KEY, value integer');
  expect([exported.err, released.err, imported.err, (await keystile(words, { environment: ofValues })).err]).toEqual([
    expect.stringMatching(MISSING_COLUMN),
    expect.stringMatching(MISSING_COLUMN),
    expect.stringMatching(TAKEN_NAME),
    expect.stringMatching(REFUSED_VALUE),
  ]);
});
