import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DEMO_TAKES, demoSettings } from '../../config/demoSettings.ts';
import { type Config, flagName, type Setting, VARIABLES } from '../../config/variables.ts';
import { makeSecret, OWN_PREFIXES } from '../../core/secret.ts';
import { showSources } from '../../config/describe.ts';
import { CannotStart, EXIT } from '../../serve/exit.ts';
import { Log } from '../../log.ts';
import { Digester, realSystem, wallClockMs } from '../../bunPlatform.ts';
import { VERSION } from '../../version.ts';
import type { Command } from '../command.ts';
import { CliError, failed, misused } from '../cliError.ts';
import { LOAD } from '../load.ts';
import { programName, jsonLine, table, visible } from '../output/print.ts';
import type { Flags } from '../flags.ts';
import type { Io } from '../io.ts';
import { readSettings, writtenFor } from '../settings.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service until SIGTERM or Ctrl-C stops it.',
  operands: [],
  flags: {
    demo: { value: null, meaning: 'Run on a temporary database with sample data and traffic, to look around.' },
    'show-config': {
      value: null,
      meaning: 'Print the configuration and where each value comes from, with secrets as ***, and exit.',
    },
  },
  examples: ['keystile serve --port 7879 --data /var/lib/keystile', 'keystile serve --env-file prod.env --show-config'],
  tellFailure({ io, flags }, { exitCode, lines }) {
    const log = exitCode === EXIT.USAGE ? null : logOf(io, flags);
    const message = exitCode === EXIT.FAILED ? 'the service has failed' : 'the service cannot start';
    for (const reason of lines) {
      if (log === null) io.err(`${visible(reason)}\n`);
      else log.error(message, { reason, exitCode, version: VERSION });
    }
  },
  async run({ io, flags, isJson }) {
    if (isJson && !flags.has('show-config'))
      throw misused('serve takes --json only with --show-config. For a JSON log, use --log-format json.');
    const isDemo = flags.has('demo');
    // Before the settings are read: one that needs another is not to be completed.
    if (isDemo) refuseFlagsForDemo(flags);
    const { config: given, notes, sources, readAgain } = await readSettings(io, flags);
    const log = flags.has('show-config') ? null : logOf(io, flags);
    for (const note of [...notes, ...(isDemo ? ignoredByDemo(given) : [])]) {
      if (log === null) io.err(`${note}\n`);
      else log.warn(note);
    }
    if (flags.has('show-config')) {
      const shown = showSources(given, sources);
      const rows = Object.entries(shown).map(([name, { value, from }]) => [name, value, from]);
      io.out(isJson ? jsonLine(shown) : table(['SETTING', 'VALUE', 'FROM'], rows));
      return EXIT.OK;
    }
    const config = isDemo ? toDemo(given) : given;
    try {
      const { serve: serveUntilStopped } = await LOAD.serve();
      const output = {
        print: (text: string) => io.out(`${text}\n`),
        logLine: (line: string) => io.err(`${line}\n`),
        isTerminal: io.isTerminal,
        showsSecrets: io.showsSecrets,
        readConfig: isDemo ? () => config : readAgain,
        program: programName(io.environment),
      };
      return await serveUntilStopped(config, output, isDemo);
    } catch (error) {
      if (!(error instanceof CannotStart)) throw error;
      throw new CliError(error.isTemporary ? EXIT.TRY_LATER : EXIT.CANNOT_START, [error.message]);
    } finally {
      if (isDemo) rmSync(config.data, { recursive: true, force: true });
    }
  },
};

/** The log before the service has one, in its format. Null: a person reads sentences. */
function logOf(io: Io, flags: Flags): Log | null {
  const written = writtenFor('logFormat', io, flags);
  const format = ['text', 'json'].find((each) => each === written) ?? (io.isTerminal ? null : 'json');
  if (format === null) return null;
  return new Log({
    level: 'info',
    format: format as 'text' | 'json',
    nowMs: wallClockMs,
    write: (line) => io.err(`${line}\n`),
  });
}

const SETTINGS_NOT_TAKEN = (Object.keys(VARIABLES) as Setting[]).filter(
  (setting) => !(DEMO_TAKES as readonly Setting[]).includes(setting),
);
/** What a demo has of its own. Each is the name of a flag, or the beginning of several. */
const OWN = [
  ['database-', 'has a database of its own'],
  ['data', 'has a folder of its own'],
  ['backup-', 'makes no backups'],
  ['otlp-', 'sends nothing to a collector'],
  ['root-key', 'makes a root key of its own'],
] as const;
const DEFAULTS = 'takes only settings that are about this machine';

/** Says what of a real installation has no part in a demo. Backups, the collector and the root key need no word: nobody misses them. */
function ignoredByDemo({ origins, databaseUrl }: Config): string[] {
  const own = 'serve --demo has a folder and a database of its own, so';
  const others = SETTINGS_NOT_TAKEN.filter((setting) => origins[setting] !== 'default' && setting !== 'url')
    .filter((setting) => !OWN.some(([prefix]) => isOf(flagName(setting).slice(2), prefix)))
    .map((setting) => VARIABLES[setting].name);
  return [
    ...(origins.data === 'default' ? [] : [`${own} KEYSTILE_DATA is ignored.`]),
    ...(databaseUrl === null ? [] : [`${own} KEYSTILE_DATABASE_URL is ignored.`]),
    ...(others.length === 0 ? [] : [`serve --demo ${DEFAULTS}. Ignored: ${others.join(', ')}.`]),
  ];
}

/** What the environment says is for a real installation, and is ignored. A flag is meant for this one. */
function refuseFlagsForDemo(flags: Flags): void {
  const given = SETTINGS_NOT_TAKEN.map((setting) => flagName(setting).slice(2)).filter((name) => flags.has(name));
  for (const [prefix, reason] of [...OWN, ['', DEFAULTS]] as const) {
    const of = given.filter((name) => isOf(name, prefix));
    if (of.length > 0)
      throw misused(`serve --demo ${reason}. Leave ${of.map((name) => `--${name}`).join(' and ')} out.`);
  }
}

/** The flag itself, or one of those that begin with the prefix. All begin with an empty one. */
function isOf(name: string, prefix: string): boolean {
  return prefix === '' || (prefix.endsWith('-') ? name.startsWith(prefix) : name === prefix);
}

/**
 * A demo has a folder and a root key of its own: what it makes up never comes among real data nor to a collector, and it prints no real root
 * key.
 */
function toDemo(given: Config): Config {
  const config = demoSettings(given);
  const rootKey = makeSecret(OWN_PREFIXES.rootKey, realSystem(new Digester(config.pepper)).randomBytes(24));
  return { ...config, data: demoFolder(), rootKey };
}

function demoFolder(): string {
  const place = tmpdir();
  try {
    return mkdtempSync(join(place, 'keystile-demo-'));
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw failed(`No folder for the demo can be made in ${place} (${code}). Set TMPDIR to another folder.`);
  }
}
