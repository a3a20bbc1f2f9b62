import { VERSION } from '../version.ts';
import type { Command } from './command.ts';
import type { FlagTable } from './flags.ts';
import { isSettingFlag, SETTING_FLAGS, settingFlags } from './settings.ts';
import { record } from './output/print.ts';

/** The flags of every command. */
export const COMMON_FLAGS: FlagTable = {
  'env-file': {
    value: 'FILE',
    meaning: 'Read settings from a file with NAME=value lines. The environment takes precedence.',
  },
  profile: { value: 'NAME', meaning: 'The profile of the service, as keystile login stored it.' },
  json: { value: null, meaning: 'Print results and errors as JSON.' },
  help: { value: null, meaning: 'Show this help.' },
};

/** All flags of a command. */
export function flagsOf({ flags, takesSettings, dataFlags }: Command): FlagTable {
  const { 'env-file': _ofSettings, ...common } = COMMON_FLAGS;
  if (takesSettings === false) return { ...flags, ...common };
  if (takesSettings !== undefined) return inOrder(flags, { ...settingFlags(takesSettings), ...COMMON_FLAGS });
  const { url: _url, 'root-key': _rootKey, ...ofData } = SETTING_FLAGS;
  return inOrder(flags, { ...(dataFlags === undefined ? SETTING_FLAGS : ofData), ...COMMON_FLAGS });
}

/** The flags of a command come first, also one that has the name of a setting. */
function inOrder(own: FlagTable, others: FlagTable): FlagTable {
  return { ...own, ...others, ...own };
}

/** The settings that matter for commands other than `serve`. */
export const CLIENT_SETTINGS = ['url', 'data', 'root-key'];

export function overview(commands: readonly Command[]): string {
  return [
    `Keystile ${VERSION}: API keys with exact credits, refills and rate limits.\n\n`,
    'Usage: keystile COMMAND [flags]\n\n',
    indented(record(commands.map((command) => [synopsis(command), command.summary]))),
    '\n',
    indented(
      record([
        ['--help', 'Show this help, or the help of a command.'],
        ['-v, --version', 'Show the version.'],
      ]),
    ),
    '\nkeystile key --help lists only the commands for keys. Settings come from KEYSTILE_* variables or from flags: see keystile serve --help.\n',
  ].join('');
}

export function commandHelp(command: Command): string {
  const all = Object.entries(flagsOf(command));
  const shown: readonly string[] = command.dataFlags ?? CLIENT_SETTINGS;
  const showsAll = command.name === 'serve' || command.takesSettings !== undefined;
  const isShown = (name: string): boolean => showsAll || shown.includes(name);
  const settings = all.filter(([name, spec]) => isSettingFlag(name, spec) && isShown(name));
  const own = all.filter(([name, spec]) => !isSettingFlag(name, spec));
  return [
    `${command.summary}\n${command.description === undefined ? '' : `${command.description}\n`}\nUsage: keystile ${synopsis(command)} [flags]\n`,
    command.operandMeaning === undefined
      ? ''
      : `\nArguments\n${indented(record([[command.operands.join(' '), command.operandMeaning]]))}`,
    section('Flags', Object.fromEntries(own)),
    section('Settings (flags or KEYSTILE_* variables)', Object.fromEntries(settings)),
    showsAll || settings.length === 0 ? '' : '  keystile serve --help lists all settings.\n',
    `\nExamples\n${command.examples.map((line) => `  ${line}\n`).join('')}`,
  ].join('');
}

function synopsis({ name, operands }: Command): string {
  return [name, ...operands].join(' ');
}

function section(title: string, flags: FlagTable): string {
  const rows = Object.entries(flags).map(([name, spec]) => {
    return [
      `--${name}${spec.value === null ? '' : ` ${spec.value}`}${spec.isRepeatable ? '...' : ''}`,
      spec.meaning,
    ] as const;
  });
  return rows.length === 0 ? '' : `\n${title}\n${indented(record(rows))}`;
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
