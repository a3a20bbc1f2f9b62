import { misused } from '../cliError.ts';
import type { Flags } from '../flags.ts';
import type { Io } from '../io.ts';
import { PROFILE_VARIABLE, readSettings, type Settings } from '../settings.ts';
import { findProfile, type Profile, readProfiles } from './profileFile.ts';

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
