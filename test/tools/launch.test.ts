import { describe, expect, test, afterEach } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The launcher runs in Node and is written in JavaScript. */
const launcher = '../../tools/launch/test/selection.mjs';
const { GROUPS, select } = (await import(launcher)) as {
  GROUPS: readonly string[];
  select: (words: readonly string[]) => { readonly checks: boolean; readonly files: string[] };
};

const LONG = 'test/postgres/nodes/revocation.long.test.ts';
const filesOf = (...targets: string[]): string[] => select(targets).files;

describe('npm test', () => {
  test('leaves out what has a command of its own, and long files', () => {
    const { files, checks } = select([]);
    expect(checks).toBe(true);
    expect(files).toContain('test/tools/launch.test.ts');
    expect(files.filter((file) => /^test\/(?:faults|pages|alone)\/|\.long\.test\.ts$/.test(file))).toEqual([]);
  });

  test('runs the files of a group or folder without its long ones, and a long file that is named', () => {
    for (const target of ['postgres', 'test/postgres', 'test/postgres/nodes'])
      expect(filesOf(target)).not.toContain(LONG);
    for (const target of [LONG, `./${LONG}`, 'long']) expect(filesOf(target)).toContain(LONG);
  });

  test('long is all long files, and nothing else', () => {
    const all = [...new Bun.Glob('test/**/*.long.test.ts').scanSync('.')];
    expect(filesOf('long').toSorted()).toEqual(all.toSorted());
  });

  test('every file runs with some command', () => {
    const all = [...new Bun.Glob('test/**/*.test.ts').scanSync('.')];
    expect(filesOf(...GROUPS).toSorted()).toEqual(all.toSorted());
  });
});

/** The launcher runs in Node and is written in JavaScript. */
const temporaryFolders = '../../tools/launch/test/temporaryFolder.mjs';

const { withTemporaryFolder } = (await import(temporaryFolders)) as {
  withTemporaryFolder: <T>(work: (temporary: { readonly TMPDIR?: string }) => Promise<T>) => Promise<T>;
};

const given = process.env['TMPDIR'];

afterEach(() => {
  if (given === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = given;
});

test('the temporary files of a run are gone after it, also when the run failed', async () => {
  delete process.env['TMPDIR'];
  let seen: string | undefined;
  const run = withTemporaryFolder(async ({ TMPDIR }) => {
    seen = TMPDIR;
    if (TMPDIR !== undefined) writeFileSync(join(TMPDIR, 'some.db'), 'x');
    throw new Error('stopped');
  });
  expect(await run.catch(String)).toBe('Error: stopped');
  expect(seen === undefined || !existsSync(seen)).toBe(true);
});

test('a run removes what a killed run left in memory', async () => {
  delete process.env['TMPDIR'];
  const ended = Bun.spawnSync(['true']).pid;
  const leftBehind = `/dev/shm/keystile-test-${ended}-killed`;
  if (existsSync('/dev/shm')) mkdirSync(leftBehind);
  await withTemporaryFolder(async () => {});
  const isThere = existsSync(leftBehind);
  rmSync(leftBehind, { recursive: true, force: true });
  expect(isThere).toBe(false);
});

test('TMPDIR chooses another folder', async () => {
  process.env['TMPDIR'] = '/var/tmp';
  expect(await withTemporaryFolder(async (temporary) => temporary)).toEqual({});
});

const runner = '../../tools/launch/run.mjs';

const { refuseOldProcessor, runToEnd } = (await import(runner)) as {
  refuseOldProcessor: (ending: { code: number }) => void;
  runToEnd: (command: string, words: readonly string[], options: object) => Promise<{ code: number }>;
};

test('a program that the processor has ended is told with what the processor lacks; other endings are not', async () => {
  const endedBy = (signal: string) => runToEnd('sh', ['-c', `kill -${signal} $$`], {});
  const illegal = await endedBy('ILL');
  expect(illegal.code).toBe(132);
  expect(() => refuseOldProcessor(illegal)).toThrow(/illegal instruction.*SSE4\.2.*docs\/deployment\.md/);
  expect(() => refuseOldProcessor({ code: 0 })).not.toThrow();
  expect(await endedBy('KILL').then(refuseOldProcessor)).toBeUndefined();
});
