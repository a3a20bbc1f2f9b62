import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';

import { readNote } from '../../src/storage/sqlite/file/folderNote.ts';
import { runToEnd, TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';

// Each start opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(60_000);

const ACCEPTED = { KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };

/** What the operator does in docs/operations.md: a copy of the database alone, while the service runs. */
function backUp(folder: TempFolder, to: string): void {
  using db = new Database(folder.join('data/keystile.db'), { readonly: true });
  db.query('VACUUM INTO ?').run(to);
}

/** A key with 10 credits in a backup, of which 3 were spent since. */
async function spendAfterBackup(folder: TempFolder): Promise<{ key: string; keyId: string }> {
  await using server = await Server.start(folder);
  const made = await server.createKey({ remaining: 10 });
  backUp(folder, folder.join('backup.db'));
  for (let i = 0; i < 3; i++) await server.verify(made.key);
  expect(await server.stop()).toBe(0);
  return made;
}

function restore(folder: TempFolder, name: string): string {
  const data = folder.join(name);
  mkdirSync(data);
  copyFileSync(folder.join('backup.db'), `${data}/keystile.db`);
  return data;
}

async function remainingIn(folder: TempFolder, data: string, keyId: string, settings = {}): Promise<number> {
  await using server = await Server.start(folder, { settings: { KEYSTILE_DATA: data, ...settings } });
  const remaining = await server.remaining(keyId);
  expect(await server.stop()).toBe(0);
  return remaining;
}

async function expectRefused(data: string): Promise<void> {
  const settings = { KEYSTILE_DATA: data, KEYSTILE_ROOT_KEY: ROOT_KEY };
  expect(await runToEnd({ settings })).toEqual({
    code: 78,
    stdout: '',
    stderr:
      `The database in ${data} is a copy: it was made in another folder, or the file commit-number beside it was removed. ` +
      'It lacks what was spent or revoked since it was copied: spent credits could be spent again, and revoked keys would be valid again. ' +
      'Start the original instead (to move it, move the whole folder), or accept this copy once with KEYSTILE_ACCEPT_LOST_COMMITS=true.\n',
  });
}

describe('a copy of the database', () => {
  test('in a new folder is refused until the operator accepts it once; the original goes on', async () => {
    using folder = new TempFolder();
    const { keyId } = await spendAfterBackup(folder);
    const data = restore(folder, 'restored');
    await expectRefused(data);
    // A refused start changes nothing: it is refused again.
    await expectRefused(data);
    expect(await remainingIn(folder, data, keyId, ACCEPTED)).toBe(10);
    expect(await remainingIn(folder, data, keyId)).toBe(10);
    expect(await remainingIn(folder, folder.join('data'), keyId)).toBe(7);
    expect(readNote(data)?.id).not.toBe(readNote(folder.join('data'))?.id);
  });

  test('in a new folder is refused by the command line, too', async () => {
    using folder = new TempFolder();
    const { key } = await spendAfterBackup(folder);
    const settings = { KEYSTILE_DATA: restore(folder, 'restored'), KEYSTILE_KEY: key, KEYSTILE_PORT: '1' };
    const command = [process.execPath, '--no-env-file', 'src/main.ts', 'key', 'verify'];
    const { code, stdout, stderr } = await runToEnd({ command, settings });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toStartWith(`The database in ${settings.KEYSTILE_DATA} is a copy: `);
  });

  test('that was accepted is one of its own: files of the original in its folder are refused', async () => {
    using folder = new TempFolder();
    const { keyId } = await spendAfterBackup(folder);
    const data = restore(folder, 'restored');
    expect(await remainingIn(folder, data, keyId, ACCEPTED)).toBe(10);
    copyFileSync(folder.join('data/keystile.db'), `${data}/keystile.db`);
    await expectRefused(data);
  });

  test('cannot be told from the original whose commit-number was removed: that is refused as well', async () => {
    using folder = new TempFolder();
    const { keyId } = await spendAfterBackup(folder);
    rmSync(folder.join('data/commit-number'));
    await expectRefused(folder.join('data'));
    expect(await remainingIn(folder, folder.join('data'), keyId, ACCEPTED)).toBe(7);
    expect(await remainingIn(folder, folder.join('data'), keyId)).toBe(7);
  });
});

describe('the whole folder', () => {
  test('can be moved', async () => {
    using folder = new TempFolder();
    const { keyId } = await spendAfterBackup(folder);
    renameSync(folder.join('data'), folder.join('moved'));
    expect(await remainingIn(folder, folder.join('moved'), keyId)).toBe(7);
  });

  test('can be moved after a crash', async () => {
    using folder = new TempFolder();
    let made: { key: string; keyId: string };
    {
      await using server = await Server.start(folder);
      made = await server.createKey({ remaining: 10 });
      await server.verify(made.key);
      await server.child.kill9();
    }
    renameSync(folder.join('data'), folder.join('moved'));
    expect(await remainingIn(folder, folder.join('moved'), made.keyId)).toBe(9);
  });

  test('copied as a whole is not noticed, as docs/operations.md says', async () => {
    using folder = new TempFolder();
    const { key, keyId } = await spendAfterBackup(folder);
    cpSync(folder.join('data'), folder.join('copied'), { recursive: true });
    {
      await using server = await Server.start(folder);
      await server.verify(key);
      expect(await server.stop()).toBe(0);
    }
    expect(await remainingIn(folder, folder.join('copied'), keyId)).toBe(7);
  });
});
