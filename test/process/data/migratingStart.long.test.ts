import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';

import { readSchemaVersion, SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { copyPresentFixture } from '../../support/fixtures/databases.ts';
import { SILENT_PORT } from '../cli/cliRun.ts';
import { offline, remainingIn } from '../documentation/offline.ts';
import { NextProgram } from '../nextProgram.ts';
import { Child, type Launch, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { linesAbout } from './logLines.ts';

const NEXT_VERSION = SCHEMA_VERSION + 1;
const PRESENT = `v${SCHEMA_VERSION}`;
const ADD_A_COLUMN = 'ALTER TABLE apis ADD COLUMN note TEXT;';

let next: NextProgram;

beforeAll(() => {
  next = new NextProgram();
});

afterAll(() => next[Symbol.dispose]());

/** The service of this program with one more migration at the end of its list. */
function nextProgramWith(migration: string): Launch {
  next.addToEmbedded(migration);
  return { command: next.serve };
}

/** The files beside the database that were put aside. */
function backups(folder: TempFolder): string[] {
  return readdirSync(folder.join('data')).filter((name) => name.endsWith('.backup'));
}

/** Another program writes the database now. */
function isLocked(folder: TempFolder): boolean {
  using db = new Database(folder.join('data/keystile.db'));
  try {
    db.run('BEGIN IMMEDIATE');
    db.run('ROLLBACK');
    return false;
  } catch {
    return true;
  }
}

const PAGE_BYTES = 4096;

/** Moves the log into the file, which then has all pages. */
function foldLog(path: string): void {
  using db = new Database(path);
  db.run('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Gives a database so many pages. New ones are a hole in the file: they take no space, but a copy of them would. */
function setPages(path: string, pages: number): void {
  const file = openSync(path, 'r+');
  ftruncateSync(file, pages * PAGE_BYTES);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(pages);
  // Where the header of a database has the number of its pages.
  writeSync(file, count, 0, 4, 28);
  closeSync(file);
}

function versionOf(path: string): number {
  using db = new Database(path, { readonly: true });
  return readSchemaVersion(db);
}

describe('a start that has to migrate', () => {
  test('puts a whole copy aside first, migrates once, and keeps every counter', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey };
    const launch = { ...nextProgramWith(ADD_A_COLUMN), settings: { ...settings, KEYSTILE_LOG_LEVEL: 'info' } };
    const told: unknown[] = [];
    for (const remaining of [95, 94]) {
      await using server = await Server.start(folder, launch);
      expect(await server.verify(keys.credits.key)).toMatchObject({ valid: true, remaining });
      expect(await server.stop()).toBe(0);
      told.push(...linesAbout(server.child.stderr, /database/));
    }
    expect(versionOf(folder.join('data/keystile.db'))).toBe(NEXT_VERSION);
    const [copy = '', ...more] = backups(folder);
    expect(copy).toMatch(new RegExp(`^keystile\\.db\\.${PRESENT}\\.\\d{4}-\\d\\d-\\d\\dT[\\d-]+Z\\.backup$`));
    expect(more).toEqual([]);
    const path = folder.join('data', copy);
    expect(told).toEqual([
      {
        message: 'the database has an older schema version: it is copied before it is migrated',
        copy: path,
        bytes: expect.any(Number),
      },
      {
        message: 'migrating the database',
        step: '1 of 1',
        from: SCHEMA_VERSION,
        to: NEXT_VERSION,
        file: folder.join('data/keystile.db'),
      },
      {
        message: 'the database is migrated; the copy is no longer needed once the new version works',
        version: NEXT_VERSION,
        milliseconds: expect.any(Number),
        copy: path,
      },
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(versionOf(folder.join('data', copy))).toBe(SCHEMA_VERSION);

    // The older program refuses the database, and serves the copy with the counters from before.
    const refused = await offline(folder.join('data'), ['key', 'get', keys.credits.keyId], settings);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(`has schema version ${NEXT_VERSION}`);
    mkdirSync(folder.join('older'));
    copyFileSync(folder.join('data', copy), folder.join('older/keystile.db'));
    // What was answered since is lost with it, and has to be accepted.
    const accepting = { ...settings, KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };
    expect(await remainingIn(folder.join('older'), keys.credits.keyId, accepting)).toBe(96);
  });

  test('a migration that fails changes nothing: the older program serves the database as before', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const broken = nextProgramWith(`${ADD_A_COLUMN} ALTER TABLE no_such_table ADD COLUMN note TEXT;`);
    const refused = await runToEnd({ ...broken, settings });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toBe(
      `The database ${folder.join('data/keystile.db')} could not be migrated from schema version ${SCHEMA_VERSION} to ${NEXT_VERSION} ` +
        '(SQLITE_ERROR: no such table: no_such_table). It is unchanged, and the older program can use it.\n',
    );
    // A service that is started again and again must not fill the disk with copies.
    expect(backups(folder)).toEqual([]);
    expect(versionOf(folder.join('data/keystile.db'))).toBe(SCHEMA_VERSION);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
  });

  test('a crash in the middle of a migration leaves the version before it: both programs serve the database', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const endless = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    const slow = nextProgramWith(`${ADD_A_COLUMN} CREATE TABLE slow AS ${endless};`);
    {
      await using migrating = new Child({ ...slow, settings });
      await until('the migration is under way', () => backups(folder).length === 1 && isLocked(folder));
      await migrating.kill9();
    }
    expect(versionOf(folder.join('data/keystile.db'))).toBe(SCHEMA_VERSION);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
    await using server = await Server.start(folder, { ...nextProgramWith(ADD_A_COLUMN), settings });
    expect(await server.verify(keys.credits.key)).toMatchObject({ valid: true, remaining: 95 });
    expect(versionOf(folder.join('data/keystile.db'))).toBe(NEXT_VERSION);
    expect(backups(folder).length).toBe(2);
  });

  test('no space for the copy: nothing is changed, the start may be tried again, and it works when there is space', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const path = folder.join('data/keystile.db');
    foldLog(path);
    const pages = statSync(path).size / PAGE_BYTES;
    // As much as the whole disk, which has less free.
    const { blocks, bsize } = statfsSync(folder.path);
    const wanted = Math.ceil((blocks * bsize) / PAGE_BYTES);
    setPages(path, wanted);
    const refused = await runToEnd({ ...nextProgramWith(ADD_A_COLUMN), settings });
    expect([refused.code, refused.stdout]).toEqual([75, '']);
    const found =
      /^No copy of \S+\/data\/keystile\.db could be made before its migration \(the disk has \d+ MiB free\)\. Nothing was changed\. Make sure that its disk has (\d+) MiB of space and that the folder can be written, then start again\.\n$/.exec(
        refused.stderr,
      );
    expect(found?.[1]).toBe(String(Math.ceil((wanted * PAGE_BYTES) / 2 ** 20)));
    expect(readdirSync(folder.join('data')).filter((name) => name.includes('backup'))).toEqual([]);
    expect(versionOf(path)).toBe(SCHEMA_VERSION);
    setPages(path, pages);
    await using server = await Server.start(folder, { ...nextProgramWith(ADD_A_COLUMN), settings });
    expect(await server.verify(keys.credits.key)).toMatchObject({ valid: true, remaining: 95 });
  });

  test('a copy that cannot be written: nothing is migrated, nothing is left of it, and both programs serve the database', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const { command = [] } = nextProgramWith(ADD_A_COLUMN);
    // Files may have 200 blocks of 512 bytes. The system does not call a longer write a full disk.
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 200; exec "$@"`, 'sh', ...command];
    const refused = await runToEnd({ command: limited, settings });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toBe(
      `No copy of ${folder.join('data/keystile.db')} could be made before its migration (SQLITE_IOERR_WRITE: disk I/O error). Nothing was changed. ` +
        'Make sure that its disk has 1 MiB of space and that the folder can be written, then start again.\n',
    );
    expect(readdirSync(folder.join('data')).filter((name) => name.includes('backup'))).toEqual([]);
    expect(versionOf(folder.join('data/keystile.db'))).toBe(SCHEMA_VERSION);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
    await using server = await Server.start(folder, { ...nextProgramWith(ADD_A_COLUMN), settings });
    expect(await server.verify(keys.credits.key)).toMatchObject({ valid: true, remaining: 95 });
  });

  test('a disk that is full during a migration: nothing is changed, and the start may be tried again', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    // The file may not grow any more.
    const full = nextProgramWith('PRAGMA max_page_count = 1; CREATE TABLE large AS SELECT zeroblob(1000000) AS bytes;');
    const refused = await runToEnd({ ...full, settings });
    expect([refused.code, refused.stdout]).toEqual([75, '']);
    expect(refused.stderr).toBe(
      `The database ${folder.join('data/keystile.db')} could not be migrated from schema version ${SCHEMA_VERSION} to ${NEXT_VERSION} ` +
        '(SQLITE_FULL: database or disk is full). It is unchanged, and the older program can use it.\n',
    );
    expect(backups(folder)).toEqual([]);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
  });

  test('a start that was killed while it made the copy leaves nothing that looks like one, and the next start removes it', async () => {
    using folder = new TempFolder();
    const { rootKey } = copyPresentFixture(folder.join('data'));
    const half = `keystile.db.${PRESENT}.2026-01-01T00-00-00-000Z.backup.partial`;
    for (const name of [half, `${half}-journal`]) writeFileSync(folder.join('data', name), 'half a copy');
    const settings = { KEYSTILE_ROOT_KEY: rootKey };
    await using server = await Server.start(folder, { ...nextProgramWith(ADD_A_COLUMN), settings });
    expect(server.url).toStartWith('http://');
    expect(readdirSync(folder.join('data')).filter((name) => name.includes('partial'))).toEqual([]);
    expect(backups(folder).length).toBe(1);
  });

  test('a command that opens the database migrates it too, and says so beside its answer', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyPresentFixture(folder.join('data'));
    next.addToEmbedded(ADD_A_COLUMN);
    const { code, stdout, stderr } = await runToEnd({
      command: [...next.program, 'key', 'get', keys.credits.keyId, '--json'],
      settings: { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: SILENT_PORT },
    });
    expect([code, (JSON.parse(stdout) as { remaining: number }).remaining]).toEqual([0, 96]);
    expect(stderr).toContain(`copy=${folder.join('data', backups(folder)[0] ?? '')}`);
    expect(stderr).toContain('migrating the database step="1 of 1" from=1 to=2');
  });
});
