import { readFileSync } from 'node:fs';

import { CliError, misused, WrongSettings } from './cliError.ts';
import type { Flags, FlagSpec, FlagTable } from './flags.ts';
import type { Io } from './io.ts';
import { namedAsGiven, readConfig } from '../config/read.ts';
import { type Config, flagName, type Setting, VARIABLES } from '../config/variables.ts';
import { repeatable } from '../core/errors.ts';
import { EXIT } from '../serve/exit.ts';

/** Only `key verify` reads this variable. It is not a setting of the service, which refuses unknown names. */
export const KEY_VARIABLE = 'KEYSTILE_KEY';

/** Names a profile. Only commands that talk to a service read it. */
export const PROFILE_VARIABLE = 'KEYSTILE_PROFILE';

/** A value that means standard input. */
export const STDIN = '-';

const SETTINGS = Object.keys(VARIABLES) as Setting[];

/** Every setting as a flag. */
export const SETTING_FLAGS: FlagTable = Object.fromEntries(
  SETTINGS.map((setting) => {
    const { kind, meaning, fallback } = VARIABLES[setting];
    const unlessGiven = fallback === null ? '' : ` Default: ${fallback}.`;
    const more =
      'isSecret' in VARIABLES[setting] ? ' Other users can see arguments: - reads it from standard input.' : '';
    return [flagWord(setting), { value: kind.label, meaning: meaning + unlessGiven + more }];
  }),
);

/** A command can have a flag of its own with the name of a setting, such as `--max-keys`. */
export function isSettingFlag(name: string, spec: FlagSpec | undefined): boolean {
  return spec !== undefined && spec === SETTING_FLAGS[name];
}

/** The flags of some settings alone. */
export function settingFlags(settings: readonly Setting[]): FlagTable {
  return Object.fromEntries(
    settings.map((setting) => [flagWord(setting), SETTING_FLAGS[flagWord(setting)] as FlagSpec]),
  );
}

export interface Settings {
  readonly config: Config;
  /** Variables that were ignored, one sentence each. */
  readonly notes: readonly string[];
  /** Where each value comes from, for a person. */
  readonly sources: Readonly<Record<Setting, string>>;
  /** The configuration as it is now: the files that it came from may have changed. Throws what is wrong with it. */
  readonly readAgain: () => Config;
  /** The environment, completed by the file that --env-file names. */
  readonly environment: Io['environment'];
}

/** Reads the configuration from flags, environment and env file. One failure reports all problems. */
export async function readSettings(io: Io, flags: Flags): Promise<Settings> {
  const given = await givenFlags(io, flags);
  const read = (): Omit<Settings, 'readAgain'> => readFrom(io, flags, given);
  return { ...read(), readAgain: () => read().config };
}

function readFrom(io: Io, flags: Flags, given: Partial<Record<Setting, string>>): Omit<Settings, 'readAgain'> {
  const path = flags.text('env-file');
  const completed = path === undefined ? {} : fromEnvFile(io.environment, path);
  const environment = { ...io.environment, ...completed };
  const { [KEY_VARIABLE]: _key, [PROFILE_VARIABLE]: _profile, ...forConfig } = environment;
  const reading = readConfig({
    environment: forConfig,
    flags: given,
    ...(path === undefined ? {} : { envFile: { path, names: new Set(Object.keys(completed)) } }),
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  if (reading.config === null) throw new WrongSettings(reading.problems);
  return { config: reading.config, notes: reading.notes, sources: reading.sources, environment };
}

/** What is written for a setting, right or wrong. It is asked where the configuration as a whole cannot be read. */
export function writtenFor(setting: Setting, io: Io, flags: Flags): string | undefined {
  const { name } = VARIABLES[setting];
  const path = flags.text('env-file');
  try {
    const ofFile = path === undefined ? {} : parseEnvFile(path);
    return givenFlag(flags, setting) ?? io.environment[name] ?? ofFile[name];
  } catch {
    return givenFlag(flags, setting) ?? io.environment[name];
  }
}

/** In an error of a command, a setting is named as it was given: by the flag, or by the profile that has the URL. */
export function namingSettings(
  { exitCode, lines, details }: CliError,
  flags: Flags,
  profileName: () => string | null,
): CliError {
  // What comes from standard input must often come from somewhere else: the error names the variable for that.
  const given = SETTINGS.filter((setting) => ![undefined, STDIN].includes(givenFlag(flags, setting)));
  const origins = Object.fromEntries(given.map((setting) => [setting, 'flag' as const]));
  // A command line that contradicts a profile is told as it was written.
  const isOfUrl = exitCode !== EXIT.USAGE && lines.some((line) => line.includes('KEYSTILE_URL'));
  const profile = isOfUrl ? profileName() : null;
  const inProfile = (line: string): string =>
    profile === null ? line : line.replaceAll(/\bKEYSTILE_URL\b/g, `the URL of the profile ${repeatable(profile)}`);
  const named = lines.map((line) => inProfile(namedAsGiven(line, origins)));
  return new CliError(exitCode, named, details);
}

async function givenFlags(io: Io, flags: Flags): Promise<Partial<Record<Setting, string>>> {
  const given: Partial<Record<Setting, string>> = {};
  const fromStdin: Setting[] = [];
  for (const setting of SETTINGS) {
    const text = givenFlag(flags, setting);
    if (text === undefined) continue;
    if (text === STDIN && 'isSecret' in VARIABLES[setting]) fromStdin.push(setting);
    else given[setting] = text;
  }
  const [first, second] = fromStdin;
  if (second !== undefined)
    throw misused('Only one secret can come from standard input. Give the others as variables or files.');
  if (first !== undefined) given[first] = (await io.readStdin()).trim();
  return given;
}

/**
 * What the file adds to the environment. The environment takes precedence, also when it sets NAME_FILE and the file sets NAME, or the other
 * way round.
 */
function fromEnvFile(environment: Io['environment'], path: string): Readonly<Record<string, string>> {
  const written = parseEnvFile(path);
  if (PROFILE_VARIABLE in written)
    throw misused(`${PROFILE_VARIABLE} has no effect in the file of --env-file. Set it in the environment.`);
  const added = Object.entries(written).filter(([name]) => {
    const twin = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`;
    return environment[name] === undefined && environment[twin] === undefined;
  });
  return Object.fromEntries(added);
}

/** Not every command takes every setting as a flag. */
function givenFlag(flags: Flags, setting: Setting): string | undefined {
  const name = flagWord(setting);
  return isSettingFlag(name, flags.specOf(name)) ? flags.text(name) : undefined;
}

function flagWord(setting: Setting): string {
  return flagName(setting).slice('--'.length);
}

const LINE = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/**
 * Reads lines of NAME=value. Blank lines and lines that start with # are skipped. A value may be in quotes and is used as
 * it is: nothing in it is expanded, so a secret may contain a $ or a backslash. Only a file that --env-file names is read:
 * a stray .env file never configures anything.
 */
function parseEnvFile(path: string): Record<string, string> {
  const found: Record<string, string> = {};
  const problems: string[] = [];
  for (const [i, raw] of readText(path).split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const match = LINE.exec(line);
    // The line itself is not shown: it may contain a secret.
    if (match === null) problems.push(`Line ${i + 1} of ${path} must have the form NAME=value.`);
    else found[match[1] ?? ''] = unquoted(match[2] ?? '');
  }
  if (problems.length > 0) throw new CliError(EXIT.CANNOT_START, problems);
  return found;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = (error as { code?: string }).code ?? String(error);
    throw new CliError(EXIT.CANNOT_START, [`The file ${path} of --env-file cannot be read (${reason}).`]);
  }
}

function unquoted(value: string): string {
  const quoted = /^(["'])(.*)\1(?:\s+#.*)?$/.exec(value);
  return quoted === null ? value.replace(/(^|\s+)#.*$/, '') : (quoted[2] ?? '');
}
