import { describe, expect, test } from 'bun:test';

import { ALL_COMMANDS } from '../../src/cli/cli.ts';
import { keystile } from '../process/cli/cliRun.ts';
import { PROGRAM } from '../process/process.ts';

/** What is offered for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, out } = await keystile(['__complete', ...words]);
  expect(code).toBe(0);
  return out.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

describe('completion', () => {
  test('of nouns, verbs, flags and the words that a flag takes', async () => {
    expect(await offered('ro')).toEqual(['root-key', 'role']);
    expect(await offered('key', 'ro')).toEqual(['rotate']);
    expect(await offered('key', 'rotate', 'key_1', '--o')).toEqual(['--overlap']);
    expect(await offered('plan', 'assign', 'plan_1', '--when', '')).toEqual(['now', 'nextRefill']);
    expect(await offered('usage', '--to')).toEqual(['--top']);
    expect(await offered('serve', '--log-f')).toEqual(['--log-format']);
    expect(await offered('--v')).toEqual(['--version']);
    expect(await offered('')).toContain('key');
  });

  test('a noun, a verb or a flag of nothing is offered nothing, and file names are left to the shell', async () => {
    for (const words of [['xyz'], ['key', 'xyz'], ['key', 'rotate', '--xyz'], ['import', 'ke'], ['import', '']])
      expect([words, await offered(...words)]).toEqual([words, []]);
  });

  test('every command has all its flags', async () => {
    for (const { name, flags } of ALL_COMMANDS) {
      const own = await offered(...name.split(' '), '--');
      expect(Object.keys(flags).filter((flag) => !own.includes(`--${flag}`))).toEqual([]);
    }
  });

  test('each word has its meaning in one line', async () => {
    const { out } = await keystile(['__complete', 'key', 'rot']);
    expect(out).toMatch(/^rotate\t\S.*[^.]\n$/);
  });

  test('bash asks the program for the words', async () => {
    const { out: script } = await keystile(['completion', 'bash']);
    const ask = `${script}
keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keystile; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = Bun.spawn(['bash', '--norc', '-c', ask, 'bash', 'keystile', 'plan', 'as'], { stdout: 'pipe' });
    expect(await child.stdout.text()).toBe('assign\n');
  });

  test('an unknown shell is refused', async () => {
    expect(await keystile(['completion', 'tcsh'])).toEqual({
      code: 2,
      out: '',
      err: 'SHELL must be bash, zsh or fish, got "tcsh".\n',
    });
  });
});
