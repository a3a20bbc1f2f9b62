import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

import { until } from '../../../tools/cluster/wait.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { remainingIn } from '../documentation/offline.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

/** A data folder with one key of 10 credits, and its backup. */
let original: TempFolder;
let keyId = '';

beforeAll(async () => {
  original = new TempFolder();
  {
    await using server = await Server.start(original);
    ({ keyId } = await server.createKey({ remaining: 10 }));
    expect(await server.stop()).toBe(0);
  }
  await create(original, 'a.backup');
});

afterAll(() => original[Symbol.dispose]());

function create(folder: TempFolder, file: string, ...flags: string[]): Promise<Ran> {
  const environment = { KEYSTILE_DATA: folder.join('data') };
  return keystile(['backup', 'create', folder.join(file), ...flags], { environment });
}

/** A folder with the data and the backup, for one test. */
function copyOfOriginal(): TempFolder {
  const folder = new TempFolder();
  cpSync(original.path, folder.path, { recursive: true });
  return folder;
}

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
  'is torn or was changed: its checksum does not fit. Use another backup, or copy the file again from where it was made.';
const FOREIGN = 'is not a backup of Keystile. Name a file that keystile backup create has made.';

describe('a file that is not a whole backup is refused, and nothing is made of it', () => {
  test.each([0.001, 0.5, 0.999])('cut off at %d of its length', async (part) => {
    using folder = copyOfOriginal();
    truncateSync(folder.join('a.backup'), Math.floor(readFileSync(folder.join('a.backup')).length * part));
    await expectRefused(folder, 'a.backup', TORN);
  });

  test('with one bit changed', async () => {
    using folder = copyOfOriginal();
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
    writeFileSync(folder.join('newer'), 'keystile-backup 2\n...');
    await expectRefused(
      folder,
      'newer',
      'was made by a newer program: it has format 2, and this program knows up to 1. Use the program that made it, or a newer one.',
    );
  });

  test('with a newer database, a database of another program, or a name that leads elsewhere', async () => {
    using folder = copyOfOriginal();
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
  using folder = copyOfOriginal();
  const whole = changed(folder, 'ANALYZE');
  const holed = Uint8Array.from(whole).fill(0xff, 8192, 12_288);
  for (const bytes of [holed, Buffer.from('no database, but longer than what a database begins with'.repeat(9))]) {
    for (const parts of [
      { 'analytics.db': whole, 'keystile.db': bytes },
      { 'analytics.db': bytes, 'keystile.db': whole },
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

/** A backup with a right checksum, of any parts. */
function packed(parts: readonly (readonly [name: string, bytes: Uint8Array])[]): Uint8Array {
  const body = Buffer.concat([
    Buffer.from('keystile-backup 1\n{"program":"0.1.0","madeAtMs":1}\n'),
    ...parts.flatMap(([name, bytes]) => [Buffer.from(`${JSON.stringify({ name, bytes: bytes.length })}\n`), bytes]),
  ]);
  return Buffer.concat([body, Buffer.from(`sha256 ${new Bun.CryptoHasher('sha256').update(body).digest('hex')}\n`)]);
}

describe('a backup that cannot be made leaves nothing', () => {
  test('where the file exists, is a folder, or its folder does not exist', async () => {
    using folder = copyOfOriginal();
    expect((await create(folder, 'a.backup')).err).toBe(
      `${folder.join('a.backup')} exists. Name another file, or replace it with --force.\n`,
    );
    expect((await create(folder, 'data', '--force')).err).toBe(
      `${folder.join('data')} is a folder. Name a file in it.\n`,
    );
    expect((await create(folder, 'none/a.backup')).err).toBe(
      `The folder ${folder.join('none')} does not exist. Create it, or name a file in another folder.\n`,
    );
    rmSync(folder.join('data/analytics.db'));
    expect((await create(folder, 'b.backup')).err).toBe(
      `There is no ${folder.join('data/analytics.db')}. Set KEYSTILE_DATA to a data folder in which the service has run.\n`,
    );
    const environment = { KEYSTILE_DATABASE_URL: 'postgres://u@127.0.0.1:1/d' };
    expect((await keystile(['backup', 'create', folder.join('c.backup')], { environment })).err).toBe(
      'KEYSTILE_DATABASE_URL is set, and this command works on the embedded database. Back up PostgreSQL with its own tools: docs/backup.md shows how.\n',
    );
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
  });

  test('--force replaces a file, and only by a whole one', async () => {
    using folder = copyOfOriginal();
    writeFileSync(folder.join('a.backup'), 'an older one');
    writeFileSync(folder.join('data/analytics.db'), 'damaged: no database at all, and longer than a header of one');
    const failed = await create(folder, 'a.backup', '--force');
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('Nothing is left of it. Check the disk')]);
    expect(readFileSync(folder.join('a.backup'), 'utf8')).toBe('an older one');
    cpSync(original.join('data/analytics.db'), folder.join('data/analytics.db'));
    expect((await create(folder, 'a.backup', '--force')).code).toBe(0);
    expect((await keystile(['backup', 'verify', folder.join('a.backup')])).code).toBe(0);
  });
});

/** Files may have so many blocks of 512 bytes: a longer write fails as on a full disk. */
function limited(blocks: number, words: readonly string[]): string[] {
  return ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh', ...PROGRAM, ...words];
}

describe('a disk that takes no more', () => {
  test.each([100, 500, 790])(
    'after %d blocks: no backup, no part of one, and the older file is as it was',
    async (blocks) => {
      using folder = copyOfOriginal();
      const settings = { KEYSTILE_DATA: folder.join('data') };
      writeFileSync(folder.join('a.backup'), 'an older one');
      const command = limited(blocks, ['backup', 'create', folder.join('a.backup'), '--force']);
      const { code, stdout, stderr } = await runToEnd({ command, settings });
      expect([code, stdout, stderr]).toEqual([
        1,
        '',
        expect.stringMatching(/^The backup \S+ was not made \(.*\)\. Nothing is left of it\. /),
      ]);
      expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
      expect(readFileSync(folder.join('a.backup'), 'utf8')).toBe('an older one');
    },
  );

  test('a restore changes nothing, also with --force', async () => {
    using folder = copyOfOriginal();
    const words = ['backup', 'restore', folder.join('a.backup'), '--accept', '--force'];
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const { code, stderr } = await runToEnd({ command: limited(100, words), settings });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The data folder \S+ was not restored \(.*\)\. Nothing was changed\. /),
    ]);
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
    expect(await remainingIn(folder.join('data'), keyId)).toBe(10);
  });
});

describe('a backup that is stopped in the middle', () => {
  /** Starts one, and waits until both databases are in its file: reading a pipe that nobody writes holds it up there. */
  const startHeldUp = async (folder: TempFolder): Promise<Child> => {
    rmSync(folder.join('a.backup'));
    Bun.spawnSync(['mkfifo', folder.join('data/encryption-key')]);
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const child = new Child({ command: [...PROGRAM, 'backup', 'create', folder.join('a.backup')], settings });
    const path = folder.join(`a.backup.partial-${child.pid}/backup`);
    await until('the file has grown', () => existsSync(path) && Bun.file(path).size > 100_000);
    return child;
  };

  test('by kill -9 has no name; the next one removes what it left, and nothing of another process', async () => {
    using folder = copyOfOriginal();
    {
      await using child = await startHeldUp(folder);
      await child.kill9();
      expect(readdirSync(folder.path).sort()).toEqual([`a.backup.partial-${child.pid}`, 'data']);
    }
    rmSync(folder.join('data/encryption-key'));
    // The first process of the system runs for ever.
    mkdirSync(folder.join('a.backup.partial-1'));
    expect((await create(folder, 'a.backup')).code).toBe(0);
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'a.backup.partial-1', 'data']);
  });

  test('by Ctrl-C leaves nothing', async () => {
    using folder = copyOfOriginal();
    await using child = await startHeldUp(folder);
    child.signal('SIGINT');
    expect(await child.exited()).toBe(130);
    expect(readdirSync(folder.path)).toEqual(['data']);
  });
});
