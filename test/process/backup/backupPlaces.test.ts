import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';

import { BackupFile } from '../../../src/storage/sqlite/backup/backupFile.ts';
import { adviceFor } from '../../../src/storage/sqlite/backup/makeBackup.ts';
import { restoreBackup } from '../../../src/storage/sqlite/backup/restoreBackup.ts';
import { WriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { snapshot } from '../cli/doctorRun.ts';
import { TempFolder } from '../process.ts';
import { copyOf, create, makeOriginal, type Original } from './original.ts';

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
    expect(await errorOf('pipe')).toBe(`${folder.join('pipe')} is a pipe, a socket or a device. Name another file.\n`);
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
