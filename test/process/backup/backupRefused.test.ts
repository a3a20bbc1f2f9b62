import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';

import { keystile } from '../cli/cliRun.ts';
import { TempFolder } from '../process.ts';
import { copyOf, makeOriginal, type Original, packed } from './original.ts';

let original: Original;

beforeAll(async () => {
  original = await makeOriginal();
});

afterAll(() => original.folder[Symbol.dispose]());

/** `verify` and `restore` of a file both fail with this text, and nothing is made. */
async function expectRefused(folder: TempFolder, file: string, text: string): Promise<void> {
  const before = readdirSync(folder.path);
  const refused = { code: 1, out: '', err: `${folder.join(file)} ${text}\n` };
  expect(await keystile(['backup', 'verify', folder.join(file)])).toEqual(refused);
  const words = ['backup', 'restore', folder.join(file), '--accept', '--data', folder.join('new')];
  expect(await keystile(words)).toEqual(refused);
  expect(readdirSync(folder.path)).toEqual(before);
}

const TORN =
  'is incomplete or was changed: its checksum does not match. Use another backup, or copy the file again from where it was made.';
const FOREIGN = 'is not a backup of Keystile. Name a file that keystile backup create has made.';

describe('a file that is not a whole backup is refused, and nothing is made of it', () => {
  test.each([0.001, 0.5, 0.999])('cut off at %d of its length', async (part) => {
    using folder = copyOf(original);
    truncateSync(folder.join('a.backup'), Math.floor(readFileSync(folder.join('a.backup')).length * part));
    await expectRefused(folder, 'a.backup', TORN);
  });

  test('with one bit changed', async () => {
    using folder = copyOf(original);
    const bytes = readFileSync(folder.join('a.backup'));
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(folder.join('a.backup'), bytes);
    await expectRefused(folder, 'a.backup', TORN);
  });

  test('of another program, or empty', async () => {
    using folder = new TempFolder();
    writeFileSync(folder.join('foreign'), 'PK\u0003\u0004 something else');
    await expectRefused(folder, 'foreign', FOREIGN);
    writeFileSync(folder.join('empty'), '');
    await expectRefused(folder, 'empty', FOREIGN);
    await expectRefused(folder, 'none', `cannot be read (ENOENT). Name a file that keystile backup create has made.`);
    mkdirSync(folder.join('folder'));
    await expectRefused(folder, 'folder', 'is not a file. Name the file that keystile backup create has made.');
  });

  test('of a newer format', async () => {
    using folder = new TempFolder();
    writeFileSync(folder.join('newer'), 'keystile-backup 3\n...');
    await expectRefused(
      folder,
      'newer',
      'was made by a newer program: it has format 3, and this program knows up to 2. Use the program that made it, or a newer one.',
    );
  });

  test('with a newer database, a database of another program, or a name that leads elsewhere', async () => {
    using folder = copyOf(original);
    const newer = changed(folder, 'PRAGMA user_version = 99');
    writeFileSync(
      folder.join('newer'),
      packed([
        ['analytics.db', newer],
        ['keystile.db', newer],
      ]),
    );
    await expectRefused(
      folder,
      'newer',
      'was made by a newer program: its database has schema version 99, and this program knows up to 1. Use the program that made it, or a newer one.',
    );
    const newerAnalytics = packed([
      ['analytics.db', newer],
      ['keystile.db', changed(folder, 'PRAGMA user_version = 1')],
    ]);
    writeFileSync(folder.join('newer'), newerAnalytics);
    await expectRefused(
      folder,
      'newer',
      'was made by a newer program: its analytics have schema version 99, and this program knows up to 2. Use the program that made it, or a newer one.',
    );
    const other = changed(folder, 'PRAGMA user_version = 1; PRAGMA application_id = 7');
    writeFileSync(
      folder.join('other'),
      packed([
        ['analytics.db', other],
        ['keystile.db', other],
      ]),
    );
    await expectRefused(
      folder,
      'other',
      'holds no database of Keystile. Name a file that keystile backup create has made.',
    );
    writeFileSync(
      folder.join('path'),
      packed([
        ['../../keystile.db', other],
        ['analytics.db', other],
      ]),
    );
    await expectRefused(folder, 'path', TORN);
  });
});

test('a backup whose checksum is right, but whose database is damaged, is refused with the reason', async () => {
  using folder = copyOf(original);
  const whole = changed(folder, 'ANALYZE');
  const analytics = readFileSync(folder.join('data/analytics.db'));
  const holed = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes).fill(0xff, 8192);
  const foreign = Buffer.from('no database, but longer than what a database begins with'.repeat(9));
  for (const broken of [holed, () => foreign]) {
    for (const parts of [
      { 'analytics.db': analytics, 'keystile.db': broken(whole) },
      { 'analytics.db': broken(analytics), 'keystile.db': whole },
    ]) {
      writeFileSync(folder.join('damaged'), packed(Object.entries(parts)));
      const { code, err } = await keystile(['backup', 'verify', folder.join('damaged')]);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/ holds a damaged database \(.+\)\. Use another backup\.\n$/),
      ]);
    }
  }
});

test('a check of a backup reads the key of copies and no other setting, and refuses flags that it would ignore', async () => {
  for (const flag of ['--port', '--data', '--force']) {
    expect(await keystile(['backup', 'verify', original.folder.join('a.backup'), flag, 'x'])).toEqual({
      code: 2,
      out: '',
      err: `Unknown flag ${flag}. --help lists them all.\n`,
    });
  }
});

/** The database of the folder, after a statement. */
function changed(folder: TempFolder, sql: string): Uint8Array {
  const path = folder.join('data/keystile.db');
  {
    using db = new Database(path);
    db.run('PRAGMA journal_mode = DELETE');
    db.run(sql);
  }
  return readFileSync(path);
}
