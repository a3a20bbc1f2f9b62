import { failed, misused } from './cliError.ts';
import type { Call } from './command.ts';
import type { FlagTable } from './flags.ts';
import { visible } from './output/show.ts';

/** The flag of commands that ask first. */
export const YES_FLAG: FlagTable = { yes: { value: null, meaning: 'Do not ask for confirmation.' } };

/** Asks before something is taken away. Without a terminal, --yes must say it. */
export async function confirm({ io, flags }: Call, command: string, what: string): Promise<void> {
  if (flags.has('yes')) return;
  if (io.ask === undefined || io.ask === null)
    throw misused(`${command} asks for confirmation, and standard input is not a terminal. Add --yes to confirm.`);
  const answer = await io.ask(`${visible(what)}. Continue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw failed('Nothing was changed.');
}
