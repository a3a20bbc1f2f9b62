import { isLoopback } from '../../core/address.ts';
import { publicUrl } from '../../config/kinds.ts';
import { repeatable } from '../../core/errors.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { usingService } from '../ask.ts';
import { CliError, misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { confirm, YES_FLAG } from '../confirm.ts';
import { findService } from '../findService.ts';
import type { Io } from '../io.ts';
import { jsonLine, visible } from '../output/show.ts';
import { loadRootKey } from '../secrets.ts';
import { readSettings } from '../settings.ts';
import { checkedName, DEFAULT_PROFILE, readProfiles, writeProfiles } from './profileFile.ts';

export const login: Command = {
  name: 'login',
  summary: 'Store the address of a service and a root key as a profile. Later commands use it.',
  operands: ['[NAME]'],
  operandMeaning: `The name of the profile. ${DEFAULT_PROFILE} when absent.`,
  flags: YES_FLAG,
  examples: [
    'keystile login --url https://keys.example.com',
    'keystile login staging --url https://staging.example.com --root-key - < root-key',
  ],
  async run(call) {
    const { io, flags, operands, isJson } = call;
    const name = checkedName(operands[0] ?? DEFAULT_PROFILE);
    // A file that cannot be used is reported before a secret is typed.
    const { profiles } = readProfiles(io);
    const { config } = await readSettings(io, flags);
    const url = config.url ?? (await askUrl(io));
    const { protocol, hostname, username, password } = new URL(url);
    if (username !== '' || password !== '')
      throw misused('--url must have no user and no password: the root key is what the service asks for.');
    if (protocol === 'http:' && !isLoopback(hostname))
      await confirm(call, 'login', `${url} has no TLS: everyone on the way can read the root key`);
    const rootKey = await loadRootKey(io, config);
    await checkRootKey({ ...config, url }, rootKey);
    writeProfiles(io, { current: name, profiles: new Map([...profiles, [name, { url, rootKey }]]) });
    io.out(isJson ? jsonLine({ profile: name, url }) : `Logged in to ${visible(url)} as the profile ${name}.\n`);
    return EXIT.OK;
  },
};

async function askUrl({ ask }: Io): Promise<string> {
  const typed = ask === undefined || ask === null ? '' : (await ask('URL of the service: ')).trim();
  if (typed === '') throw misused('login needs --url URL, such as --url https://keys.example.com.');
  const outcome = publicUrl.parse(typed);
  if ('value' in outcome) return outcome.value;
  throw misused(`The URL ${outcome.problem}, got ${repeatable(typed)}.`);
}

/** Refuses a root key that the service does not know. One without the right to list apis is known too. */
async function checkRootKey(config: Parameters<typeof findService>[0], rootKey: string): Promise<void> {
  try {
    await usingService(await findService(config), rootKey, (ask) => ask('apis.listApis', { limit: 1 }));
  } catch (error) {
    if (error instanceof CliError && error.details.code === 'INSUFFICIENT_PERMISSIONS') return;
    throw error;
  }
}
