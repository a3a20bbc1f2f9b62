import { usingService } from '../ask.ts';
import { CliError, misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { findService } from '../findService.ts';
import type { Io } from '../io.ts';
import { jsonLine, table, visible } from '../output/print.ts';
import { checkedName, DEFAULT_PROFILE, findProfile, readProfiles, writeProfiles } from '../profiles.ts';
import { confirm, YES_FLAG } from '../prompt.ts';
import { loadRootKey } from '../secrets.ts';
import { readSettings } from '../settings.ts';
import { publicUrl } from '../../config/kinds.ts';
import { isLoopback } from '../../core/address.ts';
import { repeatable } from '../../core/errors.ts';
import { EXIT } from '../../serve/exit.ts';

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
      throw misused('--url must have no user and no password. The service asks for a root key only.');
    if (protocol === 'http:' && !isLoopback(hostname))
      await confirm(call, 'login', `${url} does not use TLS: anyone on the network path can read the root key`);
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

export const logout: Command = {
  name: 'logout',
  summary: 'Remove a profile and its root key from this machine. The root key itself stays valid.',
  operands: ['[NAME]'],
  operandMeaning: 'The name of the profile. The current profile when absent.',
  flags: {},
  takesSettings: false,
  examples: ['keystile logout', 'keystile logout staging'],
  async run({ io, operands, isJson }) {
    const known = readProfiles(io);
    const name = operands[0] ?? known.current;
    if (name === null)
      throw misused('logout needs NAME: there is no current profile. keystile profile list shows all profiles.');
    findProfile(known, name, null);
    const profiles = new Map([...known.profiles].filter(([each]) => each !== name));
    writeProfiles(io, { current: known.current === name ? null : known.current, profiles });
    io.out(isJson ? jsonLine({ profile: name }) : `Removed the profile ${visible(name)}.\n`);
    return EXIT.OK;
  },
};

export const profileList: Command = {
  name: 'profile list',
  summary: 'List the profiles, and show which one is current. Root keys are not shown.',
  operands: [],
  flags: {},
  takesSettings: false,
  examples: ['keystile profile list'],
  async run({ io, isJson }) {
    const { current, profiles } = readProfiles(io);
    const listed = [...profiles].map(([name, { url }]) => ({ name, url, current: name === current }));
    const rows = listed.map((each) => [each.name, each.url, each.current ? 'yes' : 'no']);
    io.out(isJson ? jsonLine({ profiles: listed }) : table(['NAME', 'URL', 'CURRENT'], rows));
    return EXIT.OK;
  },
};

export const profileUse: Command = {
  name: 'profile use',
  summary: 'Make a profile the current one. Commands that name no profile use it.',
  operands: ['NAME'],
  flags: {},
  takesSettings: false,
  examples: ['keystile profile use staging'],
  async run({ io, operands: [name = ''], isJson }) {
    const known = readProfiles(io);
    const { url } = findProfile(known, name, null);
    writeProfiles(io, { ...known, current: name });
    io.out(isJson ? jsonLine({ profile: name, url }) : `Commands now go to ${visible(url)}.\n`);
    return EXIT.OK;
  },
};
