import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync, existsSync } from 'node:fs';

import { keystile, type Ran } from '../cli/cliRun.ts';
import { TempFolder } from '../process.ts';
import { copyOf, makeOriginal, type Original, packed, changedByHand, running } from './original.ts';
import { BackupFile } from '../../../src/storage/sqlite/backup/backupFile.ts';

describe('what is not a whole backup', () => {
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
});

describe('signatures and schemas', () => {
  const [KEY, OTHER] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];

  let original: Original;
  let files: TempFolder;

  beforeAll(async () => {
    original = await makeOriginal();
    files = new TempFolder();
    const environment = { KEYSTILE_DATA: original.folder.join('data'), KEYSTILE_COPY_KEY: KEY };
    const { code, out } = await keystile(['backup', 'create', signed()], { environment });
    expect([code, out]).toEqual([0, expect.stringContaining('signed         yes, with KEYSTILE_COPY_KEY')]);
  });

  afterAll(() => {
    original.folder[Symbol.dispose]();
    files[Symbol.dispose]();
  });

  const environmentOf = (key: string | null) => (key === null ? {} : { KEYSTILE_COPY_KEY: key });

  const verify = (file: string, key: string | null, ...flags: string[]): Promise<Ran> =>
    keystile(['backup', 'verify', file, ...flags], { environment: environmentOf(key) });

  let restored = 0;

  /** Restores into a folder of its own; answers it. */
  async function restore(file: string, key: string | null, ...flags: string[]): Promise<Ran & { folder: string }> {
    const folder = files.join(`restored-${restored++}`);
    const words = ['backup', 'restore', file, '--accept', '--data', folder, ...flags];
    return { ...(await keystile(words, { environment: environmentOf(key) })), folder };
  }

  /** Both commands refuse it with this message, and nothing is made. */
  async function expectRefused(file: string, key: string | null, message: string, ...flags: string[]): Promise<void> {
    const refused = { code: 1, out: '', err: `${file} ${message}\n` };
    expect(await verify(file, key, ...flags)).toEqual(refused);
    const { folder, ...ran } = await restore(file, key, ...flags);
    expect(ran).toEqual(refused);
    expect(existsSync(folder)).toBe(false);
  }

  const signed = (): string => original.folder.join('signed.backup');
  const unsigned = (): string => original.folder.join('a.backup');

  const FORGED =
    'was changed, or was made with another key: its signature does not match KEYSTILE_COPY_KEY. Use another copy, or add the key that it was made with to KEYSTILE_COPY_KEY, behind a comma.';

  const UNSIGNED =
    'is not signed, and KEYSTILE_COPY_KEY is set: whoever could write the file can have changed it. If you know where it has been since it was made, add --accept-unsigned.';
  const changedSchema = (what: string): string =>
    `holds a schema that was changed by hand: ${what}. Use another backup, or undo the change in the data folder and make the backup again.`;

  /** Replaces bytes of the file by as many others. */
  const patching =
    (from: string, to: string) =>
    (path: string): void => {
      const text = readFileSync(path, 'latin1');
      expect([text.includes(from), to.length]).toEqual([true, from.length]);
      writeFileSync(path, text.replaceAll(from, to), 'latin1');
    };

  /** As somebody does who can write the file and has no key. */
  const EVERY_RIGHT = `UPDATE root_keys SET rights = '["*"]'`;

  describe('a signed backup', () => {
    test.each([
      ['its key', KEY],
      ['its key behind a newer one', `${OTHER}, ${KEY}`],
    ])('is proved and restored with %s', async (_with, key) => {
      const { code, out } = await verify(signed(), key);
      expect([code, out]).toEqual([
        0,
        expect.stringContaining('origin          proved: it was made with KEYSTILE_COPY_KEY and not changed since'),
      ]);
      expect(JSON.parse((await verify(signed(), key, '--json')).out)).toMatchObject({ isSound: true, authentic: true });
      const { code: ended, folder } = await restore(signed(), key);
      expect([ended, existsSync(folder)]).toEqual([0, true]);
    });

    test('is read without a key, and its origin is not proved then', async () => {
      const { code, out } = await verify(signed(), null);
      expect([code, out]).toEqual([
        0,
        expect.stringContaining('origin          not proved: it is signed, but KEYSTILE_COPY_KEY is not set here'),
      ]);
      expect((await restore(signed(), null)).code).toBe(0);
    });

    test('that changes after it was proved is not restored', async () => {
      const file = files.join('swapped');
      writeFileSync(file, readFileSync(signed()));
      await using backup = await BackupFile.open(file, { keys: [Buffer.from(KEY, 'base64')], acceptsUnsigned: false });
      const part = backup.parts[0] as (typeof backup.parts)[number];
      const bytes = readFileSync(file);
      bytes[part.offset + part.bytes - 1] = (bytes[part.offset + part.bytes - 1] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      expect(backup.extract(part, files.join('swapped.db'))).rejects.toThrow('is incomplete or was changed');
    });

    test('is refused with another key, also where unsigned ones are accepted', async () => {
      await expectRefused(signed(), OTHER, FORGED);
      await expectRefused(signed(), OTHER, FORGED, '--accept-unsigned');
    });

    test('that was changed is refused, however its checksum is made to fit', async () => {
      const bytes = readFileSync(signed(), 'latin1');
      const [signature] = /hmac-sha256 [0-9a-f]{64}\n$/.exec(bytes) ?? [''];
      const forged = Buffer.from(await changedByHand(original, running(EVERY_RIGHT))).toString('latin1');
      // Unsigned, signed with the signature of the backup before the change, and with one under a key that is not ours.
      writeFileSync(files.join('unsigned'), forged, 'latin1');
      await expectRefused(files.join('unsigned'), KEY, UNSIGNED);
      const asSigned = (text: string, end: string): string => {
        const body = text.replace('keystile-backup 1', 'keystile-backup 2').replace(/sha256 [0-9a-f]{64}\n$/, '');
        const sha256 = new Bun.CryptoHasher('sha256').update(Buffer.from(body, 'latin1')).digest('hex');
        return `${body}sha256 ${sha256}\n${end}`;
      };
      for (const end of [signature, `hmac-sha256 ${'0'.repeat(64)}\n`]) {
        writeFileSync(files.join('forged'), asSigned(forged, end), 'latin1');
        await expectRefused(files.join('forged'), KEY, FORGED);
        await expectRefused(files.join('forged'), KEY, FORGED, '--accept-unsigned');
      }
      // Without its signature it is no whole file of its format.
      const torn =
        'is incomplete or was changed: its checksum does not match. Use another backup, or copy the file again from where it was made.';
      writeFileSync(files.join('cut'), bytes.slice(0, -signature.length), 'latin1');
      await expectRefused(files.join('cut'), KEY, torn);
      // Without a key it is read, and told that nothing proves it.
      expect((await verify(files.join('unsigned'), null)).out).toContain('origin          not proved');
    });
  });

  test('a backup of before, which is not signed, is restored without a key as ever, and with one after it is accepted', async () => {
    expect((await restore(unsigned(), null)).code).toBe(0);
    await expectRefused(unsigned(), KEY, UNSIGNED);
    const { code, out } = await restore(unsigned(), KEY, '--accept-unsigned');
    expect([code, out]).toEqual([0, expect.stringContaining('not proved: it is not signed')]);
  });

  describe('a schema that was changed by hand is refused, signed or not', () => {
    test.each<[string, string, 'keystile.db' | 'analytics.db', string]>([
      [
        'a trigger that deletes audit entries',
        'CREATE TRIGGER quiet AFTER INSERT ON audit_entries BEGIN DELETE FROM audit_entries WHERE number = new.number; END',
        'keystile.db',
        'keystile.db has the trigger "quiet", which Keystile does not make',
      ],
      [
        'a trigger on the counts',
        'CREATE TRIGGER quiet AFTER INSERT ON key_uses BEGIN DELETE FROM key_uses; END',
        'analytics.db',
        'analytics.db has the trigger "quiet", which Keystile does not make',
      ],
      [
        'a view',
        'CREATE VIEW all_keys AS SELECT * FROM keys',
        'keystile.db',
        'keystile.db has the view "all_keys", which Keystile does not make',
      ],
      [
        'a table',
        'CREATE TABLE more (id TEXT)',
        'keystile.db',
        'keystile.db has the table "more", which Keystile does not make',
      ],
      [
        'an index',
        'CREATE INDEX more ON keys (name)',
        'keystile.db',
        'keystile.db has the index "more", which Keystile does not make',
      ],
      [
        'a table with another column',
        'ALTER TABLE root_keys ADD COLUMN note TEXT',
        'keystile.db',
        'keystile.db has another table "root_keys" than Keystile makes',
      ],
      [
        'a view in the place of a table',
        'DROP TABLE import_errors; CREATE VIEW import_errors AS SELECT * FROM keys',
        'keystile.db',
        'keystile.db has the view "import_errors", which Keystile does not make',
      ],
      [
        'an index that is missing',
        'DROP INDEX sessions_ended',
        'keystile.db',
        'keystile.db lacks the index sessions_ended',
      ],
      [
        'an index under its name on other columns',
        'DROP INDEX sessions_ended; CREATE INDEX sessions_ended ON sessions (browser)',
        'keystile.db',
        'keystile.db has another index "sessions_ended" than Keystile makes',
      ],
    ])('%s', async (_what, sql, name, told) => {
      const file = files.join('changed');
      writeFileSync(file, await changedByHand(original, running(sql), name));
      await expectRefused(file, null, changedSchema(told));
    });

    test('by what a text in quotes looks like, it does not pass for ours', async () => {
      // The same words and signs, but a constraint became a comment.
      const file = files.join('changed');
      const weaker = await changedByHand(original, patching('CHECK (kind IN (0, 1))', '/*ECK (kind IN (0, 1*/'));
      writeFileSync(file, weaker);
      await expectRefused(file, null, changedSchema('keystile.db has another table "accounts" than Keystile makes'));
    });

    test('other comments and spaces, and the statistics of SQLite, change nothing', async () => {
      const file = files.join('commented');
      const commented = await changedByHand(original, (path) => {
        running('ANALYZE')(path);
        patching('-- An event has told of the refill.', '--\tan event\thas told of the refill;')(path);
      });
      writeFileSync(file, commented);
      expect(await verify(file, null)).toMatchObject({ code: 0, err: '' });
      expect((await restore(file, null)).code).toBe(0);
    });

    test('when a backup is made: it is told at once, not when it is needed', async () => {
      using copy = new TempFolder();
      const { folder } = await restore(unsigned(), null);
      {
        using db = new Database(`${folder}/keystile.db`);
        db.run('CREATE VIEW all_keys AS SELECT * FROM keys');
      }
      const { code, err } = await keystile(['backup', 'create', copy.join('a.backup')], {
        environment: { KEYSTILE_DATA: folder },
      });
      expect([code, err]).toEqual([
        1,
        `The copy ${changedSchema('keystile.db has the view "all_keys", which Keystile does not make')}\n`,
      ]);
      expect(readdirSync(copy.path)).toEqual([]);
    });
  });

  test('what a forged file names as its program is not printed', async () => {
    const header = Buffer.from(packed([])).toString('latin1').replace('"0.1.0"', '"\\u001b[2J"');
    const body = header.replace(/sha256 [0-9a-f]{64}\n$/, '');
    const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
    writeFileSync(files.join('program'), `${body}sha256 ${sha256}\n`);
    const { code, err } = await verify(files.join('program'), null);
    expect([code, err.includes('incomplete')]).toEqual([1, true]);
  });
});
