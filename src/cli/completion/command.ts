import { repeatable } from '../../core/errors.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { SCRIPTS } from './scripts.ts';
import { vocabularyOf } from './words.ts';

/** `commands` are all commands, this one included. */
export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'Print a script that completes commands and flags in your shell when you press Tab.',
    operands: ['SHELL'],
    operandMeaning: 'bash, zsh or fish.',
    flags: {},
    takesSettings: false,
    examples: [
      'source <(keystile completion bash)',
      'keystile completion fish > ~/.config/fish/completions/keystile.fish',
    ],
    async run({ io, operands: [shell = ''] }) {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) throw misused(`SHELL must be bash, zsh or fish, got ${repeatable(shell)}.`);
      io.out(script(vocabularyOf(commands())));
      return EXIT.OK;
    },
  };
}
