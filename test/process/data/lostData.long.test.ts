import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { notePath, noteText, readNote } from '../../../src/storage/sqlite/file/installation.ts';
import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { offline, remainingIn } from '../documentation/offline.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { ROOT_KEY, Server } from '../server.ts';

const FILES = ['keystile.db', 'keystile.db-wal'];

/** Copies the database files from one folder to another; what the first does not have, the other loses. */
function copyDatabase(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of [...FILES, 'keystile.db-shm']) {
    rmSync(`${to}/${name}`, { force: true });
    if (FILES.includes(name) && existsSync(`${from}/${name}`)) cpSync(`${from}/${name}`, `${to}/${name}`);
  }
}

const LOST =
  /^The database in \S+ has lost commits: its last commit is number \d+, but commit number \d+ was already confirmed to a client\. .*KEYSTILE_ACCEPT_LOST_COMMITS=true\.\n$/;

function start(folder: TempFolder) {
  return runToEnd({ settings: { KEYSTILE_DATA: folder.join('data'), KEYSTILE_ROOT_KEY: ROOT_KEY } });
}

async function expectRefused(folder: TempFolder): Promise<void> {
  const { code, out, err } = await offline(folder.join('data'), ['root-key', 'list']);
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(LOST);
}

/** A stopped service: a key with 10 credits in the folder `older`, of which 3 were spent since in `data`. */
let stopped: TempFolder;
/** A crashed service: 3 credits of a key with 10 were spent, and stand in the WAL only. */
let crashed: TempFolder;
let keyIds: { stopped: string; crashed: string };

beforeAll(async () => {
  [stopped, crashed] = [new TempFolder(), new TempFolder()];
  keyIds = { stopped: await spendAfterCopy(stopped), crashed: await spendAndCrash(crashed) };
});

afterAll(() => {
  stopped[Symbol.dispose]();
  crashed[Symbol.dispose]();
});

async function spendAfterCopy(folder: TempFolder): Promise<string> {
  await using server = await Server.start(folder);
  const { key, keyId } = await server.createKey({ remaining: 10 });
  expect(await server.stop()).toBe(0);
  copyDatabase(folder.join('data'), folder.join('older'));
  for (let i = 0; i < 3; i++) expect((await offline(folder.join('data'), ['key', 'verify', key])).code).toBe(0);
  return keyId;
}

/** The number of the last commit is noted beside the database before the crash. */
async function spendAndCrash(folder: TempFolder): Promise<string> {
  await using server = await Server.start(folder);
  const { key, keyId } = await server.createKey({ remaining: 10 });
  for (let i = 0; i < 3; i++) await server.verify(key);
  await noted(folder, lastCommit(folder));
  await server.child.kill9();
  return keyId;
}

/** The same for one test. A folder that is copied as a whole is the original as before. */
function copyOf(original: TempFolder): TempFolder {
  const folder = new TempFolder();
  cpSync(original.path, folder.path, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return folder;
}

function lastCommit(folder: TempFolder): number {
  using db = new Database(folder.join('data/keystile.db'), { readonly: true });
  return (db.query('SELECT max(number) AS number FROM ledger_log').get() as { number: number }).number;
}

/** Waits until the number of the last commit stands beside the database, which happens within a second. */
async function noted(folder: TempFolder, number: number): Promise<void> {
  while ((readNote(folder.join('data'))?.number ?? 0) < number) await Bun.sleep(10);
}

describe('a database that has lost commits is not served until an operator accepts it', () => {
  test('an older copy put back', async () => {
    using folder = copyOf(stopped);
    copyDatabase(folder.join('older'), folder.join('data'));
    const refused = await start(folder);
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toMatch(LOST);
    // A refused start changes nothing: the command line is refused, too.
    await expectRefused(folder);
    const accepted = { KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };
    expect(await remainingIn(folder.join('data'), keyIds.stopped, accepted)).toBe(10);
    // Accepted once is enough.
    expect(await remainingIn(folder.join('data'), keyIds.stopped)).toBe(10);
  });

  test('an older copy put back, refused, and replaced by the newer files again: nothing is lost', async () => {
    using folder = copyOf(stopped);
    copyDatabase(folder.join('older'), folder.join('data'));
    await expectRefused(folder);
    copyDatabase(stopped.join('data'), folder.join('data'));
    expect(await remainingIn(folder.join('data'), keyIds.stopped)).toBe(7);
  });

  test('a single commit that is missing', async () => {
    using folder = copyOf(stopped);
    const data = folder.join('data');
    const { number, id } = readNote(data) ?? expect.unreachable();
    writeFileSync(notePath(data), noteText({ number: number + 1, id }));
    await expectRefused(folder);
    writeFileSync(notePath(data), noteText({ number, id }));
    expect(await remainingIn(data, keyIds.stopped)).toBe(7);
  });

  test('the database removed altogether', async () => {
    using folder = copyOf(stopped);
    copyDatabase(folder.join('nothing'), folder.join('data'));
    const before = readdirSync(folder.join('data')).toSorted();
    const { code, stdout, stderr } = await start(folder);
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(
      /^The data folder \S+ has no keystile\.db, but commit number \d+ was already confirmed to a client\. .*KEYSTILE_ACCEPT_LOST_COMMITS=true\.\n$/,
    );
    // No new database is left in the place of the old one.
    expect(readdirSync(folder.join('data')).toSorted()).toEqual(before);
  });

  test('the WAL deleted after a crash; with the WAL put back, nothing is lost', async () => {
    using folder = copyOf(crashed);
    for (const name of ['keystile.db-wal', 'keystile.db-shm']) rmSync(folder.join('data', name));
    await expectRefused(folder);
    copyDatabase(crashed.join('data'), folder.join('data'));
    expect(await remainingIn(folder.join('data'), keyIds.crashed)).toBe(7);
  });

  test('the WAL damaged after a crash', async () => {
    using folder = copyOf(crashed);
    const path = folder.join('data/keystile.db-wal');
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 0xff, middle);
    writeFileSync(path, bytes);
    await expectRefused(folder);
  });
});

describe('a database that this program cannot read is left as it is', () => {
  const expectUntouched = async (folder: TempFolder, sentence: RegExp): Promise<void> => {
    const path = folder.join('data/keystile.db');
    const before = { bytes: readFileSync(path), mtimeMs: statSync(path).mtimeMs };
    const { code, stdout, stderr } = await start(folder);
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(sentence);
    expect({ bytes: readFileSync(path), mtimeMs: statSync(path).mtimeMs }).toEqual(before);
    expect(readdirSync(folder.join('data')).filter((name) => name.startsWith('keystile.db'))).toEqual(['keystile.db']);
  };

  test('a file that is no database: one sentence', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data'));
    writeFileSync(folder.join('data/keystile.db'), 'not a database at all\n'.repeat(1000));
    await expectUntouched(
      folder,
      /^The database \S+\/keystile\.db cannot be opened \(SQLITE_NOTADB: [^\n]+\)\. It is damaged; docs\/incidents\.md#the-database-is-damaged says what to do\.\n$/,
    );
  });

  test('a database of a newer program: one sentence with both versions', async () => {
    using folder = new TempFolder();
    expect((await offline(folder.join('data'), ['root-key', 'create', '--right', '*'])).code).toBe(0);
    {
      using db = new Database(folder.join('data/keystile.db'), { readwrite: true });
      db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
      db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    }
    for (const name of ['keystile.db-wal', 'keystile.db-shm']) rmSync(folder.join('data', name), { force: true });
    const versions = `schema version ${SCHEMA_VERSION + 1}, and this program knows up to ${SCHEMA_VERSION}`;
    await expectUntouched(
      folder,
      new RegExp(`^The database in \\S+ has ${versions}\\. Start it with the newer program that wrote it\\.\\n$`),
    );
  });

  test.concurrent('a database of a program before 0.1.0: one sentence that says what to do', async () => {
    using folder = new TempFolder();
    {
      await using server = await Server.start(folder);
      expect(await server.stop()).toBe(0);
    }
    for (const version of [1, 2, 3]) {
      {
        using db = new Database(folder.join('data/keystile.db'), { readwrite: true });
        db.run('PRAGMA application_id = 0');
        db.run(`PRAGMA user_version = ${version}`);
        db.run('PRAGMA wal_checkpoint(TRUNCATE)');
      }
      for (const name of ['keystile.db-wal', 'keystile.db-shm']) rmSync(folder.join('data', name), { force: true });
      await expectUntouched(
        folder,
        /^The database in \S+ was written by a program before 0\.1\.0, and this program cannot read it\. Nothing was changed\. Move the folder away, or set KEYSTILE_DATA to another one, and create or import the keys again\.\n$/,
      );
    }
  });
});
