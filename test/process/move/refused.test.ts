import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { exportData, toDataError } from '../../../src/cli/move/exportData.ts';
import type { Io } from '../../../src/cli/io.ts';
import { readConfig } from '../../../src/config/read.ts';
import { TestService } from '../../support/service.ts';
import { failingMove } from './failingMove.ts';

describe('files and targets', () => {
  let folder: TempFolder;
  /** An export of a key with 10 credits, and of others that make it long. */
  let whole: string;

  beforeAll(async () => {
    folder = new TempFolder();
    {
      await using server = await Server.start(folder);
      await server.createKey({ remaining: 10 });
      await server.createKeys(60, { meta: { text: 'x'.repeat(1000) } });
      await server.stop();
    }
    expect((await exports('whole')).code).toBe(0);
    whole = readFileSync(folder.join('whole'), 'utf8');
  });

  afterAll(() => folder[Symbol.dispose]());

  const FILES = ['data', 'whole'];

  function exports(file: string, ...flags: string[]): Promise<Ran> {
    const environment = { KEYSTILE_DATA: folder.join('data') };
    return keystile(['data', 'export', file === '-' ? file : folder.join(file), ...flags], { environment });
  }

  /** The import of this text fails with this message, and nothing is made. */
  async function expectRefused(text: string, message: string): Promise<void> {
    using own = new TempFolder();
    writeFileSync(own.join('a'), text);
    const ran = await keystile(['data', 'import', own.join('a'), '--accept'], {
      environment: { KEYSTILE_DATA: own.join('new') },
    });
    expect(ran).toEqual({ code: 1, out: '', err: `${message.replace('FILE', own.join('a'))}\n` });
    expect(readdirSync(own.path)).toEqual(['a']);
  }

  /** An export with these lines between header and trailer, and a right checksum. */
  function madeOf(rows: readonly string[], header = whole.split('\n')[0] ?? ''): string {
    const body = [header, ...rows].map((line) => `${line}\n`).join('');
    const counts: Record<string, number> = {};
    for (const row of rows) counts[row.split('"')[1] ?? ''] = (counts[row.split('"')[1] ?? ''] ?? 0) + 1;
    const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
    return `${body}${JSON.stringify({ rows: counts, sha256 })}\n`;
  }

  const TORN =
    'FILE is incomplete or was changed: its checksum does not match. Copy the file again from where it was made, or export the data again.';

  const FOREIGN = 'FILE is not an export of Keystile. Name a file that keystile data export has made.';
  const inLine = (line: number, problem: string): string =>
    `FILE cannot be imported: in line ${line}, ${problem}. Export the data again.`;

  describe('a file that is not a whole export is refused, and nothing is made of it', () => {
    test('cut off anywhere, or with one bit changed', async () => {
      for (const part of [0.6, 0.9, 0.999]) await expectRefused(whole.slice(0, Math.floor(whole.length * part)), TORN);
      await expectRefused(whole.slice(0, -1), TORN);
      await expectRefused(whole.replace('"value":10,', '"value":90,'), TORN);
      await expectRefused(`${whole}more\n`, TORN);
    });

    test('of another program, or empty', async () => {
      await expectRefused('', FOREIGN);
      await expectRefused('{"keys":[]}\n', FOREIGN);
      await expectRefused('PK\u0003\u0004', FOREIGN);
    });

    test('of a newer program: another format, table or column', async () => {
      await expectRefused(
        whole.replace('"format":2', '"format":3'),
        'FILE was made by a newer program: it has format 3, and this program knows up to 2. Import it with the program that made it, or a newer one.',
      );
      const header = whole.split('\n')[0] ?? '';
      await expectRefused(
        madeOf([], header.replace('["apis"', '["gadgets","apis"')),
        inLine(1, 'this program knows no table "gadgets"'),
      );
      await expectRefused(
        madeOf([], header.replace('"engine":"sqlite",', '')),
        inLine(1, 'the header is not complete'),
      );
      await expectRefused(madeOf(['["gadgets",{}]']), inLine(2, 'this program knows no table "gadgets"'));
      const uses = '["key_uses",{"key_id":"key_1","last_used_at_ms":1,"colour":"red"}]';
      await expectRefused(madeOf([uses]), inLine(2, 'this program knows no column "colour" of key_uses'));
    });

    test('of a newer schema, with forged names, or without the number of the next account', async () => {
      const header = whole.split('\n')[0] ?? '';
      await expectRefused(
        madeOf([], header.replace(/"schema":\d+/, '"schema":99')),
        `FILE was made by a newer program: it has schema version 99 of sqlite, and this program knows up to ${SCHEMA_VERSION}. Import it with the program that made it, or a newer one.`,
      );
      for (const [field, value] of [
        [/"installation":"\w+"/, '"installation":""'],
        [/"exportId":"\w+"/, '"exportId":"export_\\u001b[2J"'],
        [/"version":"[^"]+"/, '"version":"\\u0007"'],
        [/"takenAt":\d+/, '"takenAt":9000000000000000'],
        [/"move":\w+/, '"move":"no"'],
      ] as const)
        await expectRefused(madeOf([], header.replace(field, value)), inLine(1, 'the header is not complete'));
      await expectRefused(
        madeOf(['["counters",{"name":"last_event","value":1}]']),
        'FILE cannot be imported: it lacks the counter next_account. Export the data again.',
      );
    });

    test('with lines that are no rows, wrong values, or rows out of order', async () => {
      const row = (columns: object): string => `["key_uses",${JSON.stringify(columns)}]`;
      const good = row({ key_id: 'key_1', last_used_at_ms: 1 });
      const notARow = 'it is not a row, which is a list of a table and its columns';
      await expectRefused(madeOf(['[1,2,3]']), inLine(2, notARow));
      await expectRefused(madeOf([good, '["key_uses",']), inLine(3, notARow));
      await expectRefused(madeOf(['["key_uses",[]]']), inLine(2, 'the columns are not an object'));
      await expectRefused(
        madeOf([row({ key_id: 'key_1' })]),
        inLine(2, 'the column last_used_at_ms of key_uses is missing'),
      );
      for (const value of ['1', 1.5, 2 ** 53])
        await expectRefused(
          madeOf([row({ key_id: 'key_1', last_used_at_ms: value })]),
          inLine(2, `the column last_used_at_ms of key_uses must be a whole number, got ${JSON.stringify(value)}`),
        );
      await expectRefused(
        madeOf([row({ key_id: 7, last_used_at_ms: 1 })]),
        inLine(2, 'the column key_id of key_uses must be a text, got 7'),
      );
      await expectRefused(
        madeOf(['["counters",{"name":"gadgets","value":1}]']),
        inLine(2, 'this program knows no counter "gadgets"'),
      );
      const pocket = '["pockets",{"state":"{}","account":1,"held":0}]';
      await expectRefused(madeOf([good, pocket]), inLine(3, 'a row of pockets is not in the order of the header'));
      await expectRefused(
        madeOf([pocket, pocket]),
        'The file cannot be imported: in line 3, the row of pockets is refused (SQLITE_CONSTRAINT_PRIMARYKEY: UNIQUE constraint failed: pockets.account). Export the data again.',
      );
      await expectRefused(
        madeOf([`["pockets",{"state":"${'x'.repeat(17 * 2 ** 20)}","account":1,"held":0}]`]),
        inLine(2, 'the line is longer than 16777216 bytes'),
      );
    });

    test('with other rows than its trailer counts', async () => {
      const body = madeOf(['["pockets",{"state":"{}","account":1,"held":0}]']);
      await expectRefused(body.replace('{"rows":{"pockets":1}', '{"rows":{"pockets":2}'), TORN);
    });

    test('not there, or a folder', async () => {
      const environment = { KEYSTILE_DATA: folder.join('new') };
      for (const [name, message] of [
        ['none', 'cannot be read (ENOENT). Name a file that keystile data export has made.'],
        ['data', 'is not a file. Name a file that keystile data export has made.'],
      ] as const)
        expect((await keystile(['data', 'import', folder.join(name)], { environment })).err).toBe(
          `${folder.join(name)} ${message}\n`,
        );
    });
  });

  describe('a target that cannot take it', () => {
    test('a data folder that exists, or whose parent does not', async () => {
      const into = (data: string) =>
        keystile(['data', 'import', folder.join('whole'), '--accept'], { environment: { KEYSTILE_DATA: data } });
      expect((await into(folder.join('data'))).err).toBe(
        `The data folder ${folder.join('data')} exists, and an import makes a new one. Name another folder with --data, or move this one away.\n`,
      );
      using own = new TempFolder();
      expect((await into(own.join('new'))).code).toBe(0);
      expect(await into(own.join('new'))).toEqual({
        code: 1,
        out: '',
        err: `The data folder ${own.join('new')} already has this export: its import is finished. Nothing was changed. Start the service on it.\n`,
      });
      const environment = { KEYSTILE_DATA: own.join('new') };
      expect((await keystile(['data', 'export', own.join('moved on'), '--move'], { environment })).code).toBe(0);
      expect((await into(own.join('new'))).err).toContain('Nothing was changed. It was exported with --move at ');
      expect((await into(folder.join('none/new'))).err).toBe(
        `The folder ${folder.join('none')} does not exist. Create it.\n`,
      );
    });

    test('a file that exists, a folder, a folder that does not exist, and standard output with flags of a file', async () => {
      expect((await exports('whole')).err).toBe(
        `${folder.join('whole')} exists. Name another file, or replace it with --force.\n`,
      );
      expect((await exports('data', '--force')).err).toBe(`${folder.join('data')} is a folder. Name a file in it.\n`);
      expect((await exports('none/a')).err).toBe(
        `The folder ${folder.join('none')} does not exist. Create it, or name a file in another folder.\n`,
      );
      expect((await exports('x'.repeat(300))).err).toContain('was not made (ENAMETOOLONG');
      writeFileSync(folder.join('notes'), 'of a person');
      expect((await exports('notes', '--force')).err).toBe(
        `${folder.join('notes')} is not an export, and --force replaces only an export. Name another file.\n`,
      );
      expect(readFileSync(folder.join('notes'), 'utf8')).toBe('of a person');
      rmSync(folder.join('notes'));
      symlinkSync(folder.join('nothing'), folder.join('notes'));
      expect((await exports('notes')).err).toBe(
        `${folder.join('notes')} is a link. Name the file itself, or another one.\n`,
      );
      rmSync(folder.join('notes'));
      expect(
        (
          await keystile(['data', 'export', '/dev/null', '--force'], {
            environment: { KEYSTILE_DATA: folder.join('data') },
          })
        ).err,
      ).toBe('/dev/null is a pipe, a socket or a device. Name another file.\n');
      expect((await exports('-', '--force')).err).toBe('--force replaces a file, and - is standard output.\n');
      const environment = { KEYSTILE_DATA: folder.join('none') };
      expect((await keystile(['data', 'export', folder.join('b')], { environment })).err).toBe(
        `There is no ${folder.join('none/keystile.db')}. Set KEYSTILE_DATA to a data folder in which the service has run.\n`,
      );
      expect((await keystile(['data', 'export', folder.join('b'), '--move'], { environment })).err).toBe(
        `There is no database in ${folder.join('none')}. Set KEYSTILE_DATA to the data folder of the service.\n`,
      );
      expect(readdirSync(folder.path).sort()).toEqual(FILES);
    });
  });

  /** Files may have so many blocks of 512 bytes: a longer write fails as on a full disk. */
  function limited(blocks: number, words: readonly string[]): string[] {
    return ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh', ...PROGRAM, ...words];
  }

  const OLDER = '{"keystile":"data","format":1}';

  describe('a disk that takes no more', () => {
    test('leaves no export, and the older file as it was', async () => {
      using own = new TempFolder();
      writeFileSync(own.join('a'), OLDER);
      const command = limited(80, ['data', 'export', own.join('a'), '--force']);
      const { code, stderr } = await runToEnd({ command, settings: { KEYSTILE_DATA: folder.join('data') } });
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^The export \S+ was not made \(EFBIG.*\)\. Nothing is left of it\. /),
      ]);
      expect(readdirSync(own.path)).toEqual(['a']);
      expect(readFileSync(own.join('a'), 'utf8')).toBe(OLDER);
    });

    test.each([40, 300])('after %d blocks leaves no folder', async (blocks) => {
      using own = new TempFolder();
      const command = limited(blocks, ['data', 'import', folder.join('whole'), '--accept']);
      const { code, stderr } = await runToEnd({ command, settings: { KEYSTILE_DATA: own.join('new') } });
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^The data folder \S+ was not made \(.*\)\. Nothing is left of it\. /),
      ]);
      expect(readdirSync(own.path)).toEqual([]);
    });
  });

  test('a reader that goes away ends the export with a message, and an export is for its owner alone', async () => {
    expect(statSync(folder.join('whole')).mode & 0o777).toBe(0o600);
    const command = [
      'bash',
      '-c',
      '"$@" | head -c 1; exit "${PIPESTATUS[0]}"',
      'bash',
      ...PROGRAM,
      'data',
      'export',
      '-',
    ];
    await using child = new Child({ command, settings: { KEYSTILE_DATA: folder.join('data') } });
    expect(await child.exited()).toBe(1);
    expect(child.stderr).toBe('The export was not written: standard output was closed (EPIPE).\n');
  });

  test('an export goes from one process to the other through a pipe, and a folder that is in the way stays', async () => {
    using own = new TempFolder();
    const script = '"$@" data export - --data "$FROM" | "$@" data import - --accept --data "$TO"';
    const settings = { FROM: folder.join('data'), TO: own.join('new') };
    const ran = await runToEnd({ command: ['sh', '-c', script, 'sh', ...PROGRAM], settings });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/^imported +\S+new$/m)]);
    mkdirSync(own.join('empty'));
    const cut = [
      'sh',
      '-c',
      'head -c 900 "$1" | "${@:2}" data import - --accept --data "$TO"',
      'sh',
      folder.join('whole'),
    ];
    const torn = await runToEnd({
      command: ['bash', ...cut.slice(1), ...PROGRAM],
      settings: { TO: own.join('empty') },
    });
    expect([torn.code, torn.stderr]).toEqual([
      1,
      expect.stringMatching(/^Standard input is incomplete or was changed: /),
    ]);
    expect(readdirSync(own.path).sort()).toEqual(['empty', 'new']);
  });
});

test('a move that fails after the source was marked says whether the export may be used', async () => {
  const service = await TestService.start();
  await service.createKey({ remaining: 5 });
  await service.stop();
  using folder = new TempFolder();
  const environment = { KEYSTILE_DATA: service.folder };
  const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('no configuration');
  const shown: string[] = [];
  const err = (text: string): void => void shown.push(text);
  const failed = (error: unknown): string => (error as Error).message;
  const release = () => keystile(['data', 'release', '--yes'], { environment });

  // The trailer may have arrived although its write has failed.
  const writeOut = async (bytes: Uint8Array): Promise<void> => {
    if (Buffer.from(bytes).toString().startsWith('{"rows":')) throw Object.assign(new Error(), { code: 'EPIPE' });
  };
  const toPipe = { err, isTerminal: false, writeOut } as unknown as Io;
  const call = { config, replaces: false, moves: true };
  expect(await exportData(toPipe, { ...call, file: null }).catch(failed)).toBe(
    'The export was not written: standard output was closed (EPIPE).',
  );
  expect(shown).toEqual([
    'The service does not start again. Check whether the import at the other end of the pipe is whole: only one of the two services may run. If it is not whole, run keystile data release to use this one again.\n',
  ]);
  expect((await release()).out).toBe('released\n');

  // What is written goes away before it gets its name.
  const file = folder.join('export');
  const removing = (text: string): void => {
    for (const name of readdirSync(folder.path)) rmSync(folder.join(name, 'data'), { force: true });
    err(text);
  };
  const toFile = { err: removing, isTerminal: true } as unknown as Io;
  expect(await exportData(toFile, { ...call, file }).catch(failed)).toMatch(/^The export \S+ was not made \(ENOENT/);
  expect(shown).toContain(
    'The export is not whole, and the service does not start until you run keystile data release.\n',
  );
  expect((await release()).out).toBe('released\n');

  // Someone else takes the name while the file is written: it is not replaced, and the service is not moved.
  const taking = { err: () => writeFileSync(file, 'of a person'), isTerminal: true } as unknown as Io;
  expect(await exportData(taking, { ...call, file }).catch(failed)).toBe(
    `${file} exists. Name another file, or replace it with --force.`,
  );
  expect(readFileSync(file, 'utf8')).toBe('of a person');
  expect((await release()).err).toBe('This database was not moved. Nothing was changed.\n');
  rmSync(service.folder, { recursive: true });
});

test('a move of a service that an earlier move has marked, and that fails, says what a release would risk', async () => {
  const service = await TestService.start();
  await service.stop();
  const environment = { KEYSTILE_DATA: service.folder };
  const first = await keystile(['data', 'export', join(service.folder, 'first'), '--move'], { environment });
  expect(first.code).toBe(0);
  expect(await failingMove(environment, async () => true)).toEqual({
    failure: 'The export was not written: standard output was closed (EPIPE).',
    shown: [
      'An earlier export with --move has already moved the service. Run keystile data release only if that export is not used.\n',
    ],
  });
  rmSync(service.folder, { recursive: true });
});

test('a release asks first, and says what must then never happen', async () => {
  using folder = new TempFolder();
  const environment = { KEYSTILE_DATA: folder.path };
  expect(await keystile(['data', 'release'], { environment, answered: 'n' })).toEqual({
    code: 1,
    out: '',
    err: `Let the service on the data in ${folder.path} spend again. The exported data must then never be used. Continue? [y/N] Nothing was changed.\n`,
  });
});

test('a failure after the file has its name does not tell that nothing is left of it', () => {
  const error = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  const told = (mayBeWhole: boolean): string => (toDataError(error, '/exports/file', { mayBeWhole }) as Error).message;
  expect([told(false), told(true)]).toEqual([
    'The export /exports/file was not made (EIO: i/o error, fsync). Nothing is left of it. Check the disk and the database.',
    'The export /exports/file was made, but a crash could still lose it (EIO: i/o error, fsync). Check the disk and the export.',
  ]);
});

test('a damaged database is told as such, also by an export to a pipe and by a release', async () => {
  using own = new TempFolder();
  for (const name of ['keystile.db', 'analytics.db']) writeFileSync(own.join(name), 'damaged'.repeat(1000));
  const environment = { KEYSTILE_DATA: own.path };
  const damaged = 'SQLITE_NOTADB: file is not a database';
  const run = (...words: string[]) => runToEnd({ command: [...PROGRAM, 'data', ...words], settings: environment });
  const [toFile, toPipe, released] = await Promise.all([
    run('export', own.join('export')),
    run('export', '-'),
    run('release', '--yes'),
  ]);
  expect([toFile.stderr, toPipe.stderr, released.stderr]).toEqual([
    `The export ${own.join('export')} was not made (${damaged}). Nothing is left of it. Check the disk and the database.\n`,
    `The export was not written (${damaged}). Check the disk and the database.\n`,
    `The data folder ${own.path} was not released (${damaged}). Check its disk, and whether this user may write there. Then run the command again.\n`,
  ]);
});
