import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, existsSync, readdirSync } from 'node:fs';

import { readNote } from '../../../src/storage/sqlite/file/installation.ts';
import { offline, remainingIn } from '../documentation/offline.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { ROOT_KEY, Server } from '../server.ts';

describe('copies', () => {
  // Each start opens the database, which waits for the disk of a busy machine.
  setDefaultTimeout(60_000);

  const ACCEPTED = { KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };

  /** What the operator does in docs/operations.md: a copy of the database alone, while the service runs. */
  function backUp(folder: TempFolder, to: string): void {
    using db = new Database(folder.join('data/keystile.db'), { readonly: true });
    db.query('VACUUM INTO ?').run(to);
  }

  /** The folder of a key with 10 credits in a backup, of which 3 were spent since. */
  let original: TempFolder;
  let made: { key: string; keyId: string };

  beforeAll(async () => {
    original = new TempFolder();
    await using server = await Server.start(original);
    made = await server.createKey({ remaining: 10 });
    backUp(original, original.join('backup.db'));
    for (let i = 0; i < 3; i++) await server.verify(made.key);
    expect(await server.stop()).toBe(0);
  });

  afterAll(() => original[Symbol.dispose]());

  /** The same for one test. A folder that is copied as a whole is the original as before. */
  function spentAfterBackup(): TempFolder {
    const folder = new TempFolder();
    cpSync(original.path, folder.path, { recursive: true });
    return folder;
  }

  function restore(folder: TempFolder, name: string): string {
    const data = folder.join(name);
    mkdirSync(data);
    copyFileSync(folder.join('backup.db'), `${data}/keystile.db`);
    return data;
  }

  function refusal(data: string): string {
    return (
      `The database in ${data} is a copy: it was made in another folder, or the file commit-number beside it was removed. ` +
      'It lacks what was spent or revoked since it was copied: spent credits could be spent again, and revoked keys would be valid again. ' +
      'Start the original instead (to move it, move the whole folder), or accept this copy once with KEYSTILE_ACCEPT_LOST_COMMITS=true.\n'
    );
  }

  async function expectRefused(data: string): Promise<void> {
    expect(await offline(data, ['key', 'get', made.keyId])).toEqual({ code: 1, out: '', err: refusal(data) });
  }

  describe('a copy of the database', () => {
    test('in a new folder is refused until the operator accepts it once; the original goes on', async () => {
      using folder = spentAfterBackup();
      const data = restore(folder, 'restored');
      const settings = { KEYSTILE_DATA: data, KEYSTILE_ROOT_KEY: ROOT_KEY };
      expect(await runToEnd({ settings })).toEqual({ code: 78, stdout: '', stderr: refusal(data) });
      // A refused start changes nothing: the command line is refused, too.
      await expectRefused(data);
      {
        await using accepted = await Server.start(folder, { settings: { ...settings, ...ACCEPTED } });
        expect(await accepted.remaining(made.keyId)).toBe(10);
        expect(await accepted.stop()).toBe(0);
      }
      expect(await remainingIn(data, made.keyId)).toBe(10);
      expect(await remainingIn(folder.join('data'), made.keyId)).toBe(7);
      expect(readNote(data)?.id).not.toBe(readNote(folder.join('data'))?.id);
    });

    test('that was accepted is one of its own: files of the original in its folder are refused', async () => {
      using folder = spentAfterBackup();
      const data = restore(folder, 'restored');
      expect(await remainingIn(data, made.keyId, ACCEPTED)).toBe(10);
      copyFileSync(folder.join('data/keystile.db'), `${data}/keystile.db`);
      await expectRefused(data);
    });

    test('cannot be told from the original whose commit-number was removed: that is refused as well', async () => {
      using folder = spentAfterBackup();
      rmSync(folder.join('data/commit-number'));
      await expectRefused(folder.join('data'));
      expect(await remainingIn(folder.join('data'), made.keyId, ACCEPTED)).toBe(7);
      expect(await remainingIn(folder.join('data'), made.keyId)).toBe(7);
    });
  });

  describe('the whole folder', () => {
    test('can be moved', async () => {
      using folder = spentAfterBackup();
      renameSync(folder.join('data'), folder.join('moved'));
      expect(await remainingIn(folder.join('moved'), made.keyId)).toBe(7);
    });

    test('can be moved after a crash', async () => {
      using folder = new TempFolder();
      await using server = await Server.start(folder);
      const { key, keyId } = await server.createKey({ remaining: 10 });
      await server.verify(key);
      await server.child.kill9();
      renameSync(folder.join('data'), folder.join('moved'));
      expect(await remainingIn(folder.join('moved'), keyId)).toBe(9);
    });

    test('copied as a whole is not noticed, as docs/operations.md says', async () => {
      using folder = spentAfterBackup();
      cpSync(folder.join('data'), folder.join('copied'), { recursive: true });
      expect((await offline(folder.join('data'), ['key', 'verify', made.key])).code).toBe(0);
      expect(await remainingIn(folder.join('copied'), made.keyId)).toBe(7);
    });
  });
});

const REQUIRED = { KEYSTILE_REQUIRE_DATA: '1' };

const refusal = (data: string): string =>
  `There is no keystile.db in the data folder ${data}, and KEYSTILE_REQUIRE_DATA is on: no new installation is begun. ` +
  'Check KEYSTILE_DATA, and that its disk is mounted. For a first start, turn KEYSTILE_REQUIRE_DATA off.\n';

test('where data is required, a start without it is refused with 78 and makes nothing, as a command does', async () => {
  using folder = new TempFolder();
  const data = folder.join('mnt/data');
  const start = () => runToEnd({ settings: { KEYSTILE_DATA: data, ...REQUIRED } });
  expect(await start()).toMatchObject({ code: 78, stdout: '', stderr: refusal(data) });
  expect(existsSync(folder.join('mnt'))).toBe(false);
  // The folder in which a disk would be mounted.
  mkdirSync(data, { recursive: true });
  expect(await start()).toMatchObject({ code: 78, stdout: '', stderr: refusal(data) });
  expect(await offline(data, ['root-key', 'create', '--right', '*'], REQUIRED)).toEqual({
    code: 1,
    out: '',
    err: refusal(data),
  });
  expect(readdirSync(data)).toEqual([]);
});

test('where data is required and there, the service starts; without its database, nothing takes its place', async () => {
  using folder = new TempFolder();
  for (const settings of [{}, REQUIRED]) {
    await using server = await Server.start(folder, { settings });
    expect(await server.stop()).toBe(0);
  }
  const data = folder.join('data');
  rmSync(`${data}/keystile.db`);
  const left = readdirSync(data).toSorted();
  for (const settings of [{}, REQUIRED]) {
    const { code, stderr } = await runToEnd({ settings: { KEYSTILE_DATA: data, ...settings } });
    expect([code, stderr]).toEqual([
      78,
      settings === REQUIRED
        ? refusal(data)
        : expect.stringMatching(
            /^The data folder \S+ has no keystile\.db, but commit number \d+ was already confirmed/,
          ),
    ]);
    expect(readdirSync(data).toSorted()).toEqual(left);
  }
});
