import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, statSync, writeFileSync } from 'node:fs';

import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

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
    await expectRefused(madeOf([], header.replace('"engine":"sqlite",', '')), inLine(1, 'the header is not complete'));
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
  const torn = await runToEnd({ command: ['bash', ...cut.slice(1), ...PROGRAM], settings: { TO: own.join('empty') } });
  expect([torn.code, torn.stderr]).toEqual([
    1,
    expect.stringMatching(/^Standard input is incomplete or was changed: /),
  ]);
  expect(readdirSync(own.path).sort()).toEqual(['empty', 'new']);
});
