import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { readNote } from '../../src/storage/sqlite/file/folderNote.ts';
import { SCHEMA_VERSION } from '../../src/storage/sqlite/file/migrate.ts';
import { runToEnd, TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';

const FILES = ['keystile.db', 'keystile.db-wal'];

/** Copies the database files from one folder to another; what the first does not have, the other loses. */
function copyDatabase(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of [...FILES, 'keystile.db-shm']) {
    rmSync(`${to}/${name}`, { force: true });
    if (FILES.includes(name) && existsSync(`${from}/${name}`)) cpSync(`${from}/${name}`, `${to}/${name}`);
  }
}

function start(folder: TempFolder, settings: Record<string, string> = {}) {
  return runToEnd({ settings: { KEYSTILE_DATA: folder.join('data'), KEYSTILE_ROOT_KEY: ROOT_KEY, ...settings } });
}

async function expectRefused(folder: TempFolder): Promise<void> {
  const { code, stdout, stderr } = await start(folder);
  expect([code, stdout]).toEqual([78, '']);
  expect(stderr).toMatch(
    /^The database in \S+ has lost commits: its last commit is number \d+, but commit number \d+ was already confirmed to a client\. .*KEYSTILE_ACCEPT_LOST_COMMITS=true\.\n$/,
  );
}

/** A key with 10 credits in an older copy of the database, of which 3 were spent since in the newer one. */
async function spendAfterCopy(folder: TempFolder): Promise<string> {
  let made: { key: string; keyId: string };
  {
    await using server = await Server.start(folder);
    made = await server.createKey({ remaining: 10 });
    expect(await server.stop()).toBe(0);
  }
  copyDatabase(folder.join('data'), folder.join('older'));
  await using server = await Server.start(folder);
  for (let i = 0; i < 3; i++) await server.verify(made.key);
  expect(await server.stop()).toBe(0);
  copyDatabase(folder.join('data'), folder.join('newer'));
  return made.keyId;
}

/** Three spends of a key with 10, noted beside the database, and then a crash: they are in the WAL only. */
async function spendAndCrash(folder: TempFolder): Promise<string> {
  await using server = await Server.start(folder);
  const { key, keyId } = await server.createKey({ remaining: 10 });
  for (let i = 0; i < 3; i++) await server.verify(key);
  await noted(folder, lastCommit(folder));
  await server.child.kill9();
  copyDatabase(folder.join('data'), folder.join('newer'));
  return keyId;
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
  test.concurrent('an older copy put back', async () => {
    using folder = new TempFolder();
    const keyId = await spendAfterCopy(folder);
    copyDatabase(folder.join('older'), folder.join('data'));
    await expectRefused(folder);
    // A refused start changes nothing: it is refused again.
    await expectRefused(folder);
    {
      await using accepted = await Server.start(folder, { settings: { KEYSTILE_ACCEPT_LOST_COMMITS: 'true' } });
      expect(await accepted.remaining(keyId)).toBe(10);
      expect(await accepted.stop()).toBe(0);
    }
    // Accepted once is enough.
    await using later = await Server.start(folder);
    expect(await later.remaining(keyId)).toBe(10);
  });

  test.concurrent('an older copy put back, refused, and replaced by the newer files again: nothing is lost', async () => {
    using folder = new TempFolder();
    const keyId = await spendAfterCopy(folder);
    copyDatabase(folder.join('older'), folder.join('data'));
    await expectRefused(folder);
    copyDatabase(folder.join('newer'), folder.join('data'));
    await using server = await Server.start(folder);
    expect(await server.remaining(keyId)).toBe(7);
  });

  test.concurrent('the database removed altogether', async () => {
    using folder = new TempFolder();
    await spendAfterCopy(folder);
    copyDatabase(folder.join('nothing'), folder.join('data'));
    await expectRefused(folder);
  });

  test.concurrent('the WAL deleted after a crash; with the WAL put back, nothing is lost', async () => {
    using folder = new TempFolder();
    const keyId = await spendAndCrash(folder);
    for (const name of ['keystile.db-wal', 'keystile.db-shm']) rmSync(folder.join('data', name));
    await expectRefused(folder);
    copyDatabase(folder.join('newer'), folder.join('data'));
    await using server = await Server.start(folder);
    expect(await server.remaining(keyId)).toBe(7);
  });

  test.concurrent('the WAL damaged after a crash', async () => {
    using folder = new TempFolder();
    await spendAndCrash(folder);
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

  test.concurrent('a file that is no database: one sentence', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data'));
    writeFileSync(folder.join('data/keystile.db'), 'not a database at all\n'.repeat(1000));
    await expectUntouched(folder, /^The database \S+\/keystile\.db cannot be opened \(SQLITE_NOTADB: [^\n]+\)\.\n$/);
  });

  test.concurrent('a database of a newer program: one sentence with both versions', async () => {
    using folder = new TempFolder();
    {
      await using server = await Server.start(folder);
      expect(await server.stop()).toBe(0);
    }
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
