import { describe, expect, test } from 'bun:test';

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
    expect(files).toContain('test/tools/selection.test.ts');
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
