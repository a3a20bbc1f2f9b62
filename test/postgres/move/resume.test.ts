import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import { Client } from 'pg';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../../process/process.ts';
import { sharedServer } from '../../support/cluster/faultLab.ts';
import { EVERYTHING, makeEverything } from '../../support/fixtures/everything.ts';
import { TestService } from '../../support/service.ts';
import { data, onDatabase, rowsOf, emptyDatabase } from './moved.ts';
import { IMPORT_NOTE } from '../../../src/storage/sql/move/importedNote.ts';
import { putNote, prepareTarget } from '../../../src/storage/postgres/move.ts';
import { installationIn, NEW, NEW_VERSION, OLD_VERSION, withOldDatabase } from '../conformance/records/oldDatabase.ts';

describe('an import', () => {
  let folder: TempFolder;
  let file: string;

  beforeAll(async () => {
    folder = new TempFolder();
    file = folder.join('whole');
    const service = await TestService.start({ settings: EVERYTHING });
    await makeEverything(service);
    await data(['export', file], { KEYSTILE_DATA: service.folder });
    await service.close();
  });

  afterAll(() => folder[Symbol.dispose]());

  const nameOf = (url: string): string => new URL(url).pathname.slice(1);
  const imports = (url: string, from = file) =>
    keystile(['data', 'import', from, '--accept'], { environment: onDatabase(url) });

  async function noteIn(url: string, name: string): Promise<string | null> {
    const server = await sharedServer();
    const [exists] = await server.query("SELECT to_regclass('installation') IS NOT NULL AS yes", nameOf(url));
    if (exists?.['yes'] !== true) return null;
    const [row] = await server.query(`SELECT value FROM installation WHERE name = '${name}'`, nameOf(url));
    return row === undefined ? null : String(row['value']);
  }

  describe('rows of a file that was changed', () => {
    const KEY = Buffer.alloc(32, 1).toString('base64');
    const more = (text: string): string => {
      const lines = text.replaceAll('[\\"*\\"]', '[\\"*\\",\\"api.*.read_api\\"]').split('\n');
      const body = `${lines.slice(0, -2).join('\n')}\n`;
      const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
      return `${body}${JSON.stringify({ ...(JSON.parse(lines.at(-2) ?? '') as object), sha256 })}\n`;
    };
    const piped = (url: string, text: string, settings = {}) =>
      keystile(['data', 'import', '-', '--accept'], { environment: { ...onDatabase(url), ...settings }, piped: text });

    test('that is refused at its end are not taken for those of the file that it was made from', async () => {
      const server = await sharedServer();
      const service = await TestService.start();
      const signed = folder.join('signed');
      await data(['export', signed], { KEYSTILE_DATA: service.folder, KEYSTILE_COPY_KEY: KEY });
      await service.close();
      const forged = more(readFileSync(signed, 'utf8'));
      expect(forged).toContain('api.*.read_api');
      // A pipe is proved at its end. Without the key, half of a forged file can come from anywhere.
      const url = await server.createDatabase();
      const refused = await piped(url, forged, { KEYSTILE_COPY_KEY: KEY });
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('its signature does not match')]);
      expect(refused.err).toEndWith(
        'The database already has its rows, and no service will use them: drop the database.\n',
      );
      const environment = { ...onDatabase(url), KEYSTILE_COPY_KEY: KEY };
      const resumed = await keystile(['data', 'import', signed, '--accept'], { environment });
      expect([resumed.code, resumed.err]).toEqual([
        1,
        `The database has rows of another file with the number of this export: ${signed} was changed since an import of it was stopped, or the other file was. Drop the database and start over.\n`,
      ]);
      await server.dropDatabase(url);
    });
  });

  describe('an import that is killed in the middle', () => {
    test('keeps every node from starting; the same file goes on where it stopped, and another one is refused', async () => {
      const server = await sharedServer();
      const url = await server.createDatabase();
      // It reads its input from a pipe of which only a part comes.
      const lines = readFileSync(file, 'utf8').split('\n');
      const half = folder.join('half');
      writeFileSync(half, `${lines.slice(0, Math.floor(lines.length / 2)).join('\n')}\n`);
      const command = ['sh', '-c', '{ cat "$1"; sleep 60; } | exec "${@:2}"', 'sh', half];
      await using child = new Child({
        command: ['bash', ...command.slice(1), ...PROGRAM, 'data', 'import', '-', '--accept'],
        settings: { ...onDatabase(url) },
        ownGroup: true,
      });
      await until('some of it is stored', async () => /"lines":\d{2}/.test((await noteIn(url, 'import')) ?? ''));
      child.signalGroup('SIGKILL');
      await child.exited();

      const started = await runToEnd({ settings: { KEYSTILE_DATABASE_URL: url } });
      expect([started.code, started.stderr]).toEqual([
        78,
        'An import into this database is not finished. If it was from a file, run the same keystile data import again, which goes on where it stopped. If it was from a pipe, drop the database, and begin again.\n',
      ]);
      const other = folder.join('other');
      writeFileSync(other, changedHeader(readFileSync(file, 'utf8')));
      expect((await imports(url, other)).err).toMatch(
        /^The import of another export \(export_\w+\) into this database is not finished\. Finish it with the file of that export, or drop the database\.\n$/,
      );
      const piped = ['sh', '-c', '"${@:2}" data import - --accept < "$1"', 'sh', other, ...PROGRAM];
      const again = await runToEnd({ command: ['bash', ...piped.slice(1)], settings: { ...onDatabase(url) } });
      expect([again.code, again.stderr]).toEqual([
        1,
        expect.stringMatching(
          /^The import of another export \(export_\w+\) into this database is not finished\. An export is new each time: drop the database, and begin again\.\n$/,
        ),
      ]);
      await server.query("INSERT INTO root_keys VALUES ('a', 'b', 'c', NULL, '[]', 0)", nameOf(url));
      expect((await imports(url)).err).toMatch(
        /^The database has \d+ rows of root_keys, and the file has \d+: something else wrote into it\. Drop the database, and import into a new one\.\n$/,
      );
      await server.query("DELETE FROM root_keys WHERE id = 'a'", nameOf(url));
      const resumed = await imports(url);
      expect([resumed.code, resumed.out]).toEqual([0, expect.stringMatching(/^resumed +after line \d+$/m)]);
      await data(['export', folder.join('resumed'), '--force'], onDatabase(url));
      expect(rowsOf(folder.join('resumed'))).toEqual(rowsOf(file));
    });
  });

  /** The same data under another export id, with a right checksum. */
  function changedHeader(text: string): string {
    const body = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);
    const trailer = JSON.parse(text.slice(body.length)) as { rows: object };
    const changed = body.replace(/"exportId":"export_\w{8}/, '"exportId":"export_another1');
    const sha256 = new Bun.CryptoHasher('sha256').update(changed).digest('hex');
    return `${changed}${JSON.stringify({ ...trailer, sha256 })}\n`;
  }

  describe('PostgreSQL', () => {
    test('a database that is not empty is refused, and nothing in it is changed', async () => {
      const server = await sharedServer();
      const url = await server.createDatabase();
      await data(['import', file], onDatabase(url));
      // As while a node builds the indexes of a newer version.
      await server.query("DELETE FROM installation WHERE name = 'indexes_version'", nameOf(url));
      const other = folder.join('another');
      writeFileSync(other, changedHeader(readFileSync(file, 'utf8')));
      expect(await imports(url, other)).toEqual({
        code: 1,
        out: '',
        err: 'The database is not empty: it has rows in apis. Import into a new database, in which no service has run.\n',
      });
      expect([await noteIn(url, 'import'), await noteIn(url, 'indexes_version')]).toEqual([null, null]);
      // As it is when the answer to the last commit of the import was lost.
      expect(await imports(url)).toEqual({
        code: 1,
        out: '',
        err: 'The database already has this export: its import is finished. Nothing was changed. Start the service on it.\n',
      });
      await data(['export', folder.join('moved on'), '--move'], onDatabase(url));
      expect((await imports(url)).err).toMatch(
        /^The database already has this export: its import is finished\. Nothing was changed\. It was exported with --move at .+ UTC, and its credits may be spent in another place now\. Start the service there\. /,
      );
    });

    test('an imported database is served; as the source of a move its nodes must be stopped, and do not start again', async () => {
      const server = await sharedServer();
      const url = await server.createDatabase();
      await data(['import', file], onDatabase(url));
      const environment = onDatabase(url);
      const move = () => keystile(['data', 'export', folder.join('moved'), '--move', '--force'], { environment });
      {
        await using node = await KeystileNode.start({ location: 'eu', databaseUrl: url });
        expect((await node.call('/v1/apis.createApi', { name: 'made after the import' })).status).toBe(200);
        expect((await move()).err).toMatch(
          /^The node node_\w+ \(eu\) runs on this database\. Stop all nodes before an export with --move\. A node that was killed is forgotten after 10 seconds\.\n$/,
        );
        expect(await noteIn(url, 'moved')).toBeNull();
        await node.stop();
      }
      expect((await move()).code).toBe(0);
      const started = await runToEnd({ settings: { KEYSTILE_DATABASE_URL: url } });
      expect([started.code, started.stderr]).toEqual([
        78,
        expect.stringContaining('The database was exported with --move at '),
      ]);
      expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
      expect(await noteIn(url, 'moved')).toBeNull();
    });

    test('a row that the database refuses, and an import beside another one, are told', async () => {
      const url = await (await sharedServer()).createDatabase();
      const [header = ''] = readFileSync(file, 'utf8').split('\n');
      const pocket = '["pockets",{"state":"{}","account":1,"held":0}]';
      const body = `${header}\n${pocket}\n${pocket}\n`;
      const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
      writeFileSync(folder.join('twice'), `${body}${JSON.stringify({ rows: { pockets: 2 }, sha256 })}\n`);
      expect((await imports(url, folder.join('twice'))).err).toMatch(
        /^The file cannot be imported: a row of pockets in the lines 2 to 3 is refused \(.* \[23505\]\)\. Export the data again, and import it into another database\.\n$/,
      );
      const client = new Client(url);
      await client.connect();
      await client.query('SELECT pg_advisory_lock(7218530416)');
      expect((await imports(url)).err).toBe(
        'Another import into this database is running. Wait until it ends, or stop it.\n',
      );
      await client.end();
    });

    test('a database without tables of Keystile cannot be exported or released', async () => {
      const environment = onDatabase(await (await sharedServer()).createDatabase());
      const err = 'The database has no tables of Keystile. Set KEYSTILE_DATABASE_URL to the database of the service.\n';
      for (const words of [
        ['export', folder.join('none')],
        ['export', folder.join('none'), '--move'],
        ['release', '--yes'],
      ])
        expect(await keystile(['data', ...words], { environment })).toEqual({ code: 1, out: '', err });
    });
  });
});

test('an import that is not finished goes on with a newer program, which migrates its tables', async () => {
  await withOldDatabase(async (setup) => {
    await putNote(setup.node, IMPORT_NOTE, '{}');
    const known = await prepareTarget(setup.node, NEW);
    expect([known.get('schema_version'), known.get(IMPORT_NOTE)]).toEqual(['2', '{}']);
    expect(await installationIn(setup)).toEqual({ ...NEW_VERSION, [IMPORT_NOTE]: '{}' });
  });
});

test('older tables without such an import are refused, and stay as they are', async () => {
  await withOldDatabase(async (setup) => {
    expect(await prepareTarget(setup.node, NEW).catch(String)).toBe(
      'WrongServer: The database has schema version 1, and this program is for 2. Start keystile serve, which migrates it.',
    );
    expect(await installationIn(setup)).toEqual(OLD_VERSION);
  });
});

test('a retry to the new service gets the first answer and spends nothing, on PostgreSQL and back in a data folder', async () => {
  using folder = new TempFolder();
  // The node that answers later has the real clock.
  const startsAt = Date.now();
  const service = await TestService.start({ startsAt });
  const { rootKey } = service;
  const { key } = await service.createKey({ remaining: 10 });
  const request = { key, idempotencyKey: 'spent-once', remaining: { cost: 3 } };
  const { requestId: _, ...first } = await service.ok('/v1/keys.verifyKey', request);
  expect(first).toMatchObject({ valid: true, remaining: 7 });
  await service.stop();
  await data(['export', folder.join('there'), '--move'], { KEYSTILE_DATA: service.folder });

  const database = await emptyDatabase();
  await data(['import', folder.join('there')], database);
  {
    const databaseUrl = database['KEYSTILE_DATABASE_URL'] ?? '';
    await using node = await KeystileNode.start({ location: 'eu', databaseUrl, rootKey });
    expect((await node.verify(request)).body).toEqual({ ...first, requestId: expect.any(String) });
    expect((await node.verify({ key })).body).toMatchObject({ valid: true, remaining: 6 });
    await node.stop();
  }
  await data(['export', folder.join('back'), '--move'], database);
  await data(['import', folder.join('back')], { KEYSTILE_DATA: folder.join('data') });
  const back = await TestService.start({ folder: folder.join('data'), startsAt });
  back.rootKey = rootKey;
  expect(await back.ok('/v1/keys.verifyKey', request)).toEqual({ ...first, requestId: expect.any(String) });
  expect(await back.verify(key)).toMatchObject({ valid: true, remaining: 5 });
  await back.close();
  await service.close();
});
