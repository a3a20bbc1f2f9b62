import { readFileSync } from 'node:fs';

import { readConfig } from '../config/read.ts';
import { type Config, flagName, type Setting, VARIABLES } from '../config/variables.ts';
import { EXIT } from '../serve/exitCodes.ts';
import { parseEnvFile } from './envFile.ts';
import { Failure, misused } from './cliError.ts';
import type { FlagTable, Flags } from './flags.ts';
import type { Io } from './io.ts';

/** Read by `key verify`; no setting of the service, which refuses names that it does not know. */
export const KEY_VARIABLE = 'KEYSTILE_KEY';

/** A value that stands for standard input. */
export const STDIN = '-';

const SETTINGS = Object.keys(VARIABLES) as Setting[];

/** Every setting as a flag. */
export const SETTING_FLAGS: FlagTable = Object.fromEntries(
  SETTINGS.map((setting) => {
    const { kind, meaning } = VARIABLES[setting];
    const more = 'isSecret' in VARIABLES[setting] ? ' Others can see arguments; - reads it from standard input.' : '';
    return [flagWord(setting), { value: kind.label, meaning: meaning + more }];
  }),
);

export interface Settings {
  readonly config: Config;
  /** What was passed over, a sentence each. */
  readonly notes: readonly string[];
  /** The environment, and behind it the file that --env-file names. */
  readonly environment: Io['environment'];
}

/** The configuration from flags, environment and the file that was asked for; all that is wrong with it in one failure. */
export async function readSettings(io: Io, flags: Flags): Promise<Settings> {
  const environment = withEnvFile(io.environment, flags.text('env-file'));
  const { [KEY_VARIABLE]: _key, ...forConfig } = environment;
  const reading = readConfig({
    environment: forConfig,
    flags: await settingFlags(io, flags),
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  if (reading.config === null) throw new Failure(EXIT.CANNOT_START, reading.problems);
  return { config: reading.config, notes: reading.notes, environment };
}

async function settingFlags(io: Io, flags: Flags): Promise<Partial<Record<Setting, string>>> {
  const given: Partial<Record<Setting, string>> = {};
  const fromStdin: Setting[] = [];
  for (const setting of SETTINGS) {
    const text = flags.text(flagWord(setting));
    if (text === undefined) continue;
    if (text === STDIN && 'isSecret' in VARIABLES[setting]) fromStdin.push(setting);
    else given[setting] = text;
  }
  const [first, second] = fromStdin;
  if (second !== undefined) throw misused('Only one secret can come from standard input.');
  if (first !== undefined) given[first] = (await io.readStdin()).trim();
  return given;
}

/** The real environment wins, also where it names a file for a secret that the file gives directly. */
function withEnvFile(environment: Io['environment'], path: string | undefined): Io['environment'] {
  if (path === undefined) return environment;
  const fromFile = Object.entries(parseEnvFile(path)).filter(([name]) => {
    const twin = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`;
    return environment[name] === undefined && environment[twin] === undefined;
  });
  return { ...environment, ...Object.fromEntries(fromFile) };
}

function flagWord(setting: Setting): string {
  return flagName(setting).slice('--'.length);
}
