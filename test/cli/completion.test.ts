import { describe, expect, test } from 'bun:test';

import { ALL_COMMANDS } from '../../src/cli/allCommands.ts';
import { SCRIPTS } from '../../src/cli/completion/scripts.ts';
import { vocabularyOf } from '../../src/cli/completion/words.ts';
import { keystile } from '../process/cli/cliRun.ts';

const scriptOf = (shell: string): string => SCRIPTS[shell]?.(vocabularyOf(ALL_COMMANDS)) ?? '';

/** What bash offers for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const ask = `${scriptOf('bash')}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keystile; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = Bun.spawn(['bash', '--norc', '-c', ask, 'bash', 'keystile', ...words], { stdout: 'pipe' });
  return (await child.stdout.text()).split('\n').filter((word) => word !== '');
}

describe('completion', () => {
  test('bash completes nouns, verbs, flags and the words that a flag takes', async () => {
    expect(await offered('ro')).toEqual(['root-key', 'role']);
    expect(await offered('key', 'ro')).toEqual(['rotate']);
    expect(await offered('key', 'rotate', 'key_1', '--o')).toEqual(['--overlap']);
    expect(await offered('plan', 'assign', 'plan_1', '--when', '')).toEqual(['now', 'nextRefill']);
    expect(await offered('usage', '--to')).toEqual(['--top']);
    expect(await offered('serve', '--log-f')).toEqual(['--log-format']);
  });

  test('a noun, a verb or a flag of nothing is offered nothing, and file names are left to the shell', async () => {
    for (const words of [['xyz'], ['key', 'xyz'], ['key', 'rotate', '--xyz'], ['import', 'ke']])
      expect(await offered(...words)).toEqual([]);
  });

  test.each(['bash', 'zsh', 'fish'])('the script for %s has every command with all its flags', (shell) => {
    const script = scriptOf(shell);
    for (const { name, flags } of ALL_COMMANDS) {
      const lines = script
        .split('\n')
        .filter((line) => line.includes(shell === 'fish' ? `__keystile_is ${name}'` : `'${name}') flags`));
      for (const flag of Object.keys(flags)) {
        expect(lines.join('\n')).toMatch(new RegExp(shell === 'fish' ? ` -l ${flag} ` : `--${flag}\\b`));
      }
    }
  });

  test('an unknown shell is refused', async () => {
    expect((await keystile(['completion', 'bash'])).out).toBe(scriptOf('bash'));
    expect(await keystile(['completion', 'tcsh'])).toEqual({
      code: 2,
      out: '',
      err: 'SHELL must be bash, zsh or fish, got "tcsh".\n',
    });
  });
});
