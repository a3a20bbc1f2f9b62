import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../cli/cliRun.ts';
import { remainingIn } from '../documentation/offline.ts';
import { Child, PROGRAM, runToEnd, type TempFolder } from '../process.ts';
import { copyOf, create, makeOriginal, type Original } from './original.ts';

/** As much of a backup as --force asks for. */
const OLDER = 'keystile-backup 1\nan older one';

let original: Original;

beforeAll(async () => {
  original = await makeOriginal();
});

afterAll(() => original.folder[Symbol.dispose]());

describe('a backup that cannot be made leaves nothing', () => {
  test('where the file exists, is a folder, or its folder does not exist', async () => {
    using folder = copyOf(original);
    expect((await create(folder, 'a.backup')).err).toBe(
      `${folder.join('a.backup')} exists. Name another file, or replace it with --force.\n`,
    );
    expect((await create(folder, 'data', '--force')).err).toBe(
      `${folder.join('data')} is a folder. Name a file in it.\n`,
    );
    expect((await create(folder, 'none/a.backup')).err).toBe(
      `The folder ${folder.join('none')} does not exist. Create it, or name a file in another folder.\n`,
    );
    expect((await create(folder, 'a.backup/b.backup')).err).toBe(
      `${folder.join('a.backup')} is not a folder. Name a file in a folder.\n`,
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

  test('where the disk has less space than it needs, before anything is written', async () => {
    using folder = copyOf(original);
    // A file with a hole takes no space, and counts as large.
    truncateSync(folder.join('data/keystile.db-wal'), 2 ** 43);
    const { code, err } = await create(folder, 'b.backup');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /^The disk of \S+ has \d+ MiB free, and the backup needs up to 1677\d+ MiB while it is made\. Make space, or name a file on another disk\.\n$/,
      ),
    ]);
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
  });

  test('on standard output: a backup is a file', async () => {
    expect(await keystile(['backup', 'create', '-'])).toEqual({
      code: 2,
      out: '',
      err: 'backup create writes a file, not standard output. Name a file instead of -.\n',
    });
  });

  test('--force replaces a file, and only by a whole one', async () => {
    using folder = copyOf(original);
    writeFileSync(folder.join('a.backup'), OLDER);
    writeFileSync(folder.join('data/analytics.db'), 'damaged: no database at all, and longer than a header of one');
    const failed = await create(folder, 'a.backup', '--force');
    expect([failed.code, failed.err]).toEqual([
      1,
      expect.stringContaining(
        `Nothing is left of it. The file ${folder.join('data/analytics.db')} is damaged. It holds counts only. Stop the service, move the file and those that begin with its name away, start the service, which then begins without counts, and make the backup again.\n`,
      ),
    ]);
    expect(readFileSync(folder.join('a.backup'), 'utf8')).toBe(OLDER);
    cpSync(original.folder.join('data/analytics.db'), folder.join('data/analytics.db'));
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
      using folder = copyOf(original);
      const settings = { KEYSTILE_DATA: folder.join('data') };
      writeFileSync(folder.join('a.backup'), OLDER);
      const command = limited(blocks, ['backup', 'create', folder.join('a.backup'), '--force']);
      const { code, stdout, stderr } = await runToEnd({ command, settings });
      expect([code, stdout, stderr]).toEqual([
        1,
        '',
        expect.stringMatching(/^The backup \S+ was not made \(.*\)\. Nothing is left of it\. /),
      ]);
      expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
      expect(readFileSync(folder.join('a.backup'), 'utf8')).toBe(OLDER);
    },
  );

  test('a check says which folder is too small, and leaves nothing in it', async () => {
    using folder = copyOf(original);
    const temporary = folder.join('temporary');
    mkdirSync(temporary);
    const command = limited(100, ['backup', 'verify', folder.join('a.backup')]);
    const { code, stdout, stderr } = await runToEnd({ command, settings: { TMPDIR: temporary } });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toStartWith(
      `The checksum of ${folder.join('a.backup')} is right, but its databases could not be unpacked into ${temporary} (`,
    );
    expect(stderr).toEndWith('). Set TMPDIR to a folder with 1 MiB of free space.\n');
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('a restore changes nothing, also with --force', async () => {
    using folder = copyOf(original);
    const words = ['backup', 'restore', folder.join('a.backup'), '--accept', '--force'];
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const { code, stderr } = await runToEnd({ command: limited(100, words), settings });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The data folder \S+ was not restored \(.*\)\. Nothing was changed\. /),
    ]);
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
    expect(await remainingIn(folder.join('data'), original.keyId)).toBe(10);
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
    using folder = copyOf(original);
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
    using folder = copyOf(original);
    await using child = await startHeldUp(folder);
    child.signal('SIGINT');
    expect(await child.exited()).toBe(130);
    expect(readdirSync(folder.path)).toEqual(['data']);
  });
});
