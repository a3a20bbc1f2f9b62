import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

import { failed, misused } from './cliError.ts';
import type { Flags } from './flags.ts';
import type { Io } from './io.ts';
import { PROFILE_VARIABLE, readSettings, type Settings } from './settings.ts';
import { repeatable } from '../core/errors.ts';
import { nearestName } from '../basics/nearestName.ts';
import { writeDurably } from '../storage/sqlite/file/dataFolder.ts';

/** Settings that say which service is meant. With one of them, the current profile is not used. */
const WHERE = ['url', 'data', 'host', 'port', 'database-url', 'root-key'];
/** Flags that a profile cannot stand beside: a root key for the service of a profile may be given. */
const OTHER_PLACES = [...WHERE.filter((flag) => flag !== 'root-key'), 'env-file'];
const WHERE_VARIABLES = WHERE.map((flag) => `KEYSTILE_${flag.toUpperCase().replaceAll('-', '_')}`);

/** The settings of a command that talks to a service: those of a profile, when one is named or nothing else says where. */
export async function readClientSettings(io: Io, flags: Flags): Promise<Settings> {
  const profile = chosenProfile(io, flags);
  if (profile === null) return readSettings(io, flags);
  const { KEYSTILE_ROOT_KEY_FILE: _file, ...environment } = io.environment;
  const own = { ...environment, KEYSTILE_URL: profile.url, KEYSTILE_ROOT_KEY: profile.rootKey };
  return readSettings({ ...io, environment: own }, flags);
}

function chosenProfile(io: Io, flags: Flags): Profile | null {
  const name = chosenName(io, flags);
  if (name === null) return null;
  const other = otherPlace(flags);
  const isFlag = flags.has('profile');
  if (isFlag && other !== undefined)
    throw misused(`--profile and --${other} exclude each other. Give only one of them.`);
  const isVariable = !isFlag && io.environment[PROFILE_VARIABLE] !== undefined;
  if (isVariable && io.environment['KEYSTILE_URL'] !== undefined)
    throw misused(`${PROFILE_VARIABLE} and KEYSTILE_URL exclude each other. Unset one of them, or use --profile.`);
  const known = readProfiles(io);
  if (!isFlag && !isVariable) return known.profiles.get(name) ?? null;
  return findProfile(known, name, isFlag ? '--profile' : PROFILE_VARIABLE);
}

/** The name of the profile that said where the service is; null = something else did. */
export function usedProfile(io: Io, flags: Flags): string | null {
  return chosenProfile(io, flags) === null ? null : chosenName(io, flags);
}

/** The profile that is to say which service is meant; null = something else says it. */
function chosenName(io: Io, flags: Flags): string | null {
  const flag = flags.text('profile');
  if (flag !== undefined) return flag;
  const variable = io.environment[PROFILE_VARIABLE];
  if (variable !== undefined && otherPlace(flags) === undefined) return variable;
  return saysWhere(io, flags) ? null : readProfiles(io).current;
}

function otherPlace(flags: Flags): string | undefined {
  return OTHER_PLACES.find((each) => flags.has(each));
}

function saysWhere({ environment }: Io, flags: Flags): boolean {
  const isSet = (name: string): boolean => environment[name] !== undefined || environment[`${name}_FILE`] !== undefined;
  return flags.has('env-file') || WHERE.some((flag) => flags.has(flag)) || WHERE_VARIABLES.some(isSet);
}

/** One installation: where it is, and the root key for it. */
interface Profile {
  readonly url: string;
  readonly rootKey: string;
}

interface Profiles {
  /** The profile of commands that name none. Null: there is none. */
  readonly current: string | null;
  readonly profiles: ReadonlyMap<string, Profile>;
}

export const DEFAULT_PROFILE = 'default';

const NONE: Profiles = { current: null, profiles: new Map() };

/** Null: the environment names no home folder, so there are no profiles. */
function profilePath({ environment }: Io): string | null {
  // An empty variable is as good as none, and one with a relative path would be another file in every folder.
  const folder = (name: string): string | null => {
    const path = environment[name] ?? '';
    return isAbsolute(path) ? path : null;
  };
  const home = folder('HOME') ?? folder('USERPROFILE');
  const config = folder('XDG_CONFIG_HOME') ?? (home === null ? null : join(home, '.config'));
  return config === null ? null : join(config, 'keystile', 'profiles.json');
}

export function readProfiles(io: Io): Profiles {
  const path = profilePath(io);
  const text = path === null ? null : readPrivately(path);
  return path === null || text === null ? NONE : parseProfiles(path, text);
}

/** Like ssh, refuses secrets that others can read. Null: there is no file. */
function readPrivately(path: string): string | null {
  try {
    const { mode } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw failed(`Other users can read ${path}, which holds root keys. Run: chmod 600 ${path}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === undefined) throw error;
    throw failed(`The file ${path} of the profiles cannot be read (${code}).`);
  }
}

function parseProfiles(path: string, text: string): Profiles {
  try {
    const { current, profiles } = JSON.parse(text) as { current: unknown; profiles: Record<string, Profile> };
    const entries = Object.entries(profiles);
    const isWhole = entries.every(([, { url, rootKey }]) => URL.canParse(url) && typeof rootKey === 'string');
    if (!isWhole || (current !== null && typeof current !== 'string')) throw new SyntaxError('not a file of profiles');
    return { current, profiles: new Map(entries) };
  } catch {
    throw failed(`The file ${path} is not a file of profiles. Delete it, and run keystile login again.`);
  }
}

/** The file is replaced as a whole, so that a full disk or a crash leaves the old one. */
export function writeProfiles(io: Io, { current, profiles }: Profiles): void {
  const path = profilePath(io);
  if (path === null) throw failed('Profiles need a home folder. Set HOME or XDG_CONFIG_HOME.');
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeDurably(path, `${JSON.stringify({ current, profiles: Object.fromEntries(profiles) }, null, 2)}\n`);
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw failed(`The file ${path} of the profiles cannot be written (${code}). Nothing was stored.`);
  }
}

/** `from` is the flag or variable that named the profile. Null: an argument did. */
export function findProfile({ profiles }: Profiles, name: string, from: string | null): Profile {
  const found = profiles.get(name);
  if (found !== undefined) return found;
  const names = [...profiles.keys()];
  const near = nearestName(name, names);
  const hint =
    near === null ? 'keystile profile list shows all profiles, and keystile login makes one.' : `Did you mean ${near}?`;
  const text =
    from === null
      ? `There is no profile ${repeatable(name)}.`
      : `There is no profile ${repeatable(name)}, which ${from} names.`;
  throw misused(`${text} ${hint}`);
}

export function checkedName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name;
  throw misused(
    `NAME must have 1 to 64 letters, digits or the characters _ . -, and begin with a letter or digit, got ${repeatable(name)}.`,
  );
}
