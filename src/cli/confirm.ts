import type { Config } from '../config/variables.ts';
import { failed, misused } from './cliError.ts';
import type { Call } from './command.ts';
import type { FlagTable } from './flags.ts';
import { visible } from './output/show.ts';

/** The flag of commands that ask first. */
export const YES_FLAG: FlagTable = { yes: { value: null, meaning: 'Do not ask for confirmation.' } };

/** The service that a command changes, for a person. */
function placeOf({ url, databaseUrl, data }: Config): string {
  if (url !== null) return url;
  return databaseUrl === null ? `the service with the data in ${data}` : 'the service of KEYSTILE_DATABASE_URL';
}

/** Asks before something is taken away, and names the service of `config`. Without a terminal, --yes must say it. */
export async function confirm({ io, flags }: Call, command: string, what: string, config?: Config): Promise<void> {
  if (flags.has('yes')) return;
  if (io.ask === undefined || io.ask === null)
    throw misused(`${command} asks for confirmation, and standard input is not a terminal. Add --yes to confirm.`);
  const where = config === undefined ? '' : `, on ${placeOf(config)}`;
  const answer = await io.ask(`${visible(what)}${where}. Continue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw failed('Nothing was changed.');
}
