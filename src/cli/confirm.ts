import { namedAsGiven } from '../config/read.ts';
import type { Config } from '../config/variables.ts';
import { localUrl } from '../core/localUrl.ts';
import { failed, misused } from './cliError.ts';
import type { Call } from './command.ts';
import type { FlagTable } from './flags.ts';
import { visible } from './output/show.ts';

/** The flag of commands that ask first. */
export const YES_FLAG: FlagTable = { yes: { value: null, meaning: 'Do not ask for confirmation.' } };

/** The service that `findService` finds, for a person. */
export function serviceOf(config: Config): string {
  if (config.url !== null) return config.url;
  if (config.port === 0) return databaseOf(config);
  const url = localUrl(config.host, config.port, config.tlsCert !== null);
  return `${url}, or on ${databaseOf(config)} if nothing answers there`;
}

/** The database of commands that never ask over HTTP, for a person. */
export function databaseOf({ databaseUrl, data, origins }: Config): string {
  return databaseUrl === null ? `the data in ${data}` : namedAsGiven('the database of KEYSTILE_DATABASE_URL', origins);
}

/** Asks before something is taken away, and says where. Without a terminal, --yes must say it. */
export async function confirm({ io, flags }: Call, command: string, what: string, where?: string): Promise<void> {
  if (flags.has('yes')) return;
  if (io.ask === undefined || io.ask === null)
    throw misused(`${command} asks for confirmation, and standard input is not a terminal. Add --yes to confirm.`);
  const place = where === undefined ? '' : `, on ${visible(where)}`;
  const answer = await io.ask(`${visible(what)}${place}. Continue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw failed('Nothing was changed.');
}
