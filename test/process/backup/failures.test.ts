import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  chownSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { hostname } from 'node:os';

import { until } from '../../../tools/cluster/wait.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { remainingIn } from '../documentation/offline.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { copyOf, create, makeOriginal, type Original } from './original.ts';
import { BackupFile } from '../../../src/storage/sqlite/backup/backupFile.ts';
import { adviceFor } from '../../../src/storage/sqlite/backup/makeBackup.ts';
import { restoreBackup } from '../../../src/storage/sqlite/backup/restoreBackup.ts';
import { WriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import { snapshot } from '../cli/doctorRun.ts';

describe('a backup that fails', () => {
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
});

describe('the place of a backup', () => {
  let original: Original;
  let folder: TempFolder;

  beforeAll(async () => {
    original = await makeOriginal();
    folder = copyOf(original);
  });

  afterAll(() => {
    original.folder[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  describe('a backup takes the place of nothing but an older backup', () => {
    test('--force refuses the live database, another file in its folder, and a link that leads there', async () => {
      symlinkSync(folder.join('data'), folder.join('link'));
      const before = snapshot(folder.join('data'));
      for (const file of ['data/keystile.db', 'data/new.backup', 'link/keystile.db']) {
        expect((await create(folder, file, '--force')).err).toBe(
          `${folder.join(file)} is in the data folder ${folder.join('data')}. Name a file in another folder: a backup must not be lost with what it is a copy of.\n`,
        );
      }
      expect(snapshot(folder.join('data'))).toEqual(before);
      rmSync(folder.join('link'));
    });

    test('--force refuses a file of another kind, a link and a pipe', async () => {
      writeFileSync(folder.join('letters.txt'), 'not to be lost');
      symlinkSync(folder.join('nowhere'), folder.join('dangling'));
      Bun.spawnSync(['mkfifo', folder.join('pipe')]);
      const before = readdirSync(folder.path);
      const errorOf = async (file: string): Promise<string> => (await create(folder, file, '--force')).err;
      expect(await errorOf('letters.txt')).toBe(
        `${folder.join('letters.txt')} is not a backup, and --force replaces only a backup. Name another file.\n`,
      );
      expect(await errorOf('dangling')).toBe(
        `${folder.join('dangling')} is a link. Name the file itself, or another one.\n`,
      );
      expect(await errorOf('pipe')).toBe(
        `${folder.join('pipe')} is a pipe, a socket or a device. Name another file.\n`,
      );
      expect(readdirSync(folder.path)).toEqual(before);
      expect(await Bun.file(folder.join('letters.txt')).text()).toBe('not to be lost');
      for (const name of ['letters.txt', 'dangling', 'pipe']) rmSync(folder.join(name));
    });
  });

  test('a pipe is refused as a backup to check or restore, without waiting for a writer', async () => {
    Bun.spawnSync(['mkfifo', folder.join('pipe')]);
    for (const words of [
      ['verify', folder.join('pipe')],
      ['restore', folder.join('pipe'), '--accept', '--data', folder.join('new')],
    ]) {
      expect(await keystile(['backup', ...words])).toMatchObject({
        code: 1,
        err: `${folder.join('pipe')} is not a file. Name the file that keystile backup create has made.\n`,
      });
    }
    rmSync(folder.join('pipe'));
  });

  test('a user who may not do it is told who may', () => {
    const adviceOf = (message: string): string => adviceFor(new WriteFailure('broken', message), 'none');
    expect(adviceOf('SQLITE_READONLY_DIRECTORY: attempt to write a readonly database')).toBe(
      'Run the command as the user of the data folder: reading its databases needs the right to write there.',
    );
    expect(adviceOf('EACCES: permission denied, mkdir')).toBe(
      'Check that this user may write in the folder of the backup, and read the data folder.',
    );
  });

  function restore(data: string, ...words: string[]): Promise<Ran> {
    return keystile(['backup', 'restore', folder.join('a.backup'), '--accept', '--data', folder.join(data), ...words]);
  }

  describe('a restore moves nothing aside but a data folder', () => {
    test('with --force, it refuses a folder of other files, a file and a link that leads nowhere', async () => {
      mkdirSync(folder.join('home'));
      writeFileSync(folder.join('home/letters.txt'), 'mine');
      symlinkSync(folder.join('nowhere'), folder.join('dangling'));
      for (const words of [[], ['--force']]) {
        expect((await restore('home', ...words)).err).toBe(
          `${folder.join('home')} holds other files and no keystile.db: it is not a data folder, and is not moved aside. Name another one with --data.\n`,
        );
        expect((await restore('a.backup', ...words)).err).toBe(
          `${folder.join('a.backup')} is a file, and a data folder is needed. Name another one with --data.\n`,
        );
        expect((await restore('dangling', ...words)).err).toBe(
          `${folder.join('dangling')} is a link that leads nowhere. Remove it, or name another folder with --data.\n`,
        );
      }
      expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'dangling', 'data', 'home']);
      rmSync(folder.join('home'), { recursive: true });
      rmSync(folder.join('dangling'));
    });

    test('a folder that cannot be renamed keeps its files as they were', async () => {
      for (const name of ['owner.lock', 'owner.json']) rmSync(folder.join('data', name), { force: true });
      const before = snapshot(folder.join('data'));
      // A file is in the way of the folder.
      const taken = folder.join('data.before-restore-1970-01-01T00-00-00-000Z');
      writeFileSync(taken, '');
      await using backup = await BackupFile.open(folder.join('a.backup'), { keys: [], acceptsUnsigned: false });
      const owner = { pid: process.pid, host: hostname(), startedAt: '', control: null, url: null };
      const failure = await restoreBackup(backup, {
        folder: folder.join('data'),
        movesAside: true,
        owner,
        nowMs: 0,
        newFolderId: () => 'folder_1',
      }).catch((error: unknown) => String(error));
      expect(failure).toMatch(/was not restored \(.*ENOTDIR.*\)\. Nothing was changed\./);
      expect(snapshot(folder.join('data'))).toEqual(before);
      rmSync(taken);
      expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
    });

    test('root gives the new folder to the user of the old one, or of the folder around it', async () => {
      // Another user than root can give files only to itself.
      const own = process.getuid?.() ?? 0;
      const uid = own === 0 ? 12_345 : own;
      mkdirSync(folder.join('around'));
      chownSync(folder.join('around'), uid, -1);
      chownSync(folder.join('data'), uid, -1);
      for (const data of ['around/data', 'data']) {
        const { code, out } = await restore(data, '--force', '--json');
        expect(code).toBe(0);
        for (const name of ['', ...readdirSync(folder.join(data))])
          expect([name, statSync(folder.join(data, name)).uid]).toEqual([name, uid]);
        const { movedTo } = JSON.parse(out) as { movedTo?: string };
        if (movedTo === undefined) continue;
        rmSync(folder.join(data), { recursive: true });
        renameSync(movedTo, folder.join(data));
      }
      expect(existsSync(folder.join('data/keystile.db'))).toBe(true);
    });
  });
});
