import { CliError, misused, WrongSettings } from './cliError.ts';
import type { Command } from './command.ts';
import { audit, auditExport } from './commands/audit.ts';
import { backupCreate, backupRestore, backupVerify } from './commands/backup.ts';
import { doctor } from './commands/doctor.ts';
import { health } from './commands/health.ts';
import { importKeys } from './commands/import.ts';
import { dataExport, dataImport, dataRelease } from './commands/data.ts';
import { nodes, nodesForget } from './commands/nodes.ts';
import { rootKeyCreate, rootKeyList, rootKeyRevoke, rootKeyRotate } from './commands/rootKey.ts';
import { serve } from './commands/serve.ts';
import { top } from './commands/top.ts';
import { usage } from './commands/usage.ts';
import { webhookListen } from './commands/webhook.listen.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { endpointCommand } from './endpoint/endpointCommand.ts';
import endpoints from './endpoint/endpoints.json';
import { namingFlags, parseFlags } from './flags.ts';
import { commandHelp, flagsOf, overview } from './help.ts';
import type { Io } from './io.ts';
import { jsonLine, visible } from './output/print.ts';
import { usedProfile } from './profiles.ts';
import { login, logout, profileList, profileUse } from './commands/login.ts';
import { namingSettings, isSettingFlag } from './settings.ts';
import { formerFlagsOf, userWord } from './words.ts';
import { REMOVED_FLAGS } from '../config/read.ts';
import { AddressError } from '../core/databaseUrl.ts';
import { AppError, repeatable } from '../core/errors.ts';
import { EXIT } from '../serve/exit.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../storage/port/storage.ts';
import { WrongServer } from '../storage/postgres/connection/wrongServer.ts';
import { DataError } from '../storage/sql/move/dataError.ts';
import { BackupError } from '../storage/sqlite/backup/backupError.ts';
import { FolderError } from '../storage/sqlite/file/dataFolder.ts';
import { VERSION } from '../version.ts';
import { isOneEditAway, nearestWord } from '../basics/nearestName.ts';

/** The commands that are written by hand, in the order of the help. Those of other endpoints are made: see ENDPOINT_COMMANDS. */
export const COMMANDS: readonly Command[] = [
  serve,
  health,
  nodes,
  nodesForget,
  backupCreate,
  backupVerify,
  backupRestore,
  dataExport,
  dataImport,
  dataRelease,
  doctor,
  login,
  logout,
  profileList,
  profileUse,
  rootKeyCreate,
  rootKeyList,
  rootKeyRotate,
  rootKeyRevoke,
  importKeys,
  audit,
  auditExport,
  usage,
  top,
  webhookListen,
];

/** Runs a command line and returns the exit code. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    return report(error, io, argv.includes('--json'));
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  if (argv[0] === COMPLETE) {
    io.out(completed(ALL_COMMANDS, argv.slice(1)));
    return EXIT.OK;
  }
  const words = inFull(asFlag(argv), ALL_COMMANDS);
  if ((words.includes('--version') || words.includes('-v')) && words.every((word) => word.startsWith('-'))) {
    io.out(words.includes('--json') ? jsonLine({ version: VERSION }) : `${VERSION}\n`);
    return EXIT.OK;
  }
  // Of a command and one that has a word more, the longer one is meant.
  const [command] = ALL_COMMANDS.filter(({ name }) => name === commandWords(words, name)).toSorted(
    (a, b) => b.name.length - a.name.length,
  );
  if (command === undefined) return listCommands(words, io);
  const rest = words.slice(command.name.split(' ').length);
  const table = flagsOf(command);
  const formerFlags = { ...REMOVED_FLAGS, ...formerFlagsOf(table), ...command.formerFlags };
  const { flags, operands } = parseFlags(rest, table, formerFlags);
  if (flags.has('help')) {
    io.out(commandHelp(command));
    return EXIT.OK;
  }
  checkOperands(command, operands.length);
  const takesProfile = command.takesProfile ?? command.endpoint !== undefined;
  if (flags.has('profile') && !takesProfile)
    throw misused(`${command.name} takes no --profile: it does not talk to the service of a profile.`);
  const call = { io, flags, operands, isJson: flags.has('json') };
  try {
    return await namingFlags({ ...COMMAND_NAMES, ...command.flagNames }, () => command.run(call));
  } catch (error) {
    const isNamed = command.takesSettings === false || error instanceof WrongSettings;
    const profile = (): string | null => (takesProfile ? usedProfile(io, flags) : null);
    const failure = isNamed ? toCliError(error) : namingSettings(toCliError(error), flags, profile);
    if (command.tellFailure === undefined || call.isJson) throw failure;
    command.tellFailure(call, failure);
    return failure.exitCode;
  }
}

/** `help` and `version` are flags, and work as commands too. */
function asFlag(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  if (first === 'help') return [...rest, '--help'];
  return first === 'version' ? ['--version', ...rest] : argv;
}

/** The first words of the command line, as many as `name` has. */
function commandWords(words: readonly string[], name: string): string {
  return words.slice(0, name.split(' ').length).join(' ');
}

/**
 * Lists the commands when none is given, or those of a group when only its name is given. The list goes to standard output
 * when --help asks for it, and to standard error otherwise.
 */
function listCommands(words: readonly string[], io: Io): number {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  const [flag = ''] = words;
  if (flag.startsWith('-') && !['--help', '-h'].includes(flag)) {
    const name = repeatable(flag.split('=')[0] ?? '');
    throw misused(`Flags come after the command: keystile COMMAND [flags], got ${name} first. See keystile --help.`);
  }
  const group = ALL_COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (first !== undefined && (group.length === 0 || second !== undefined))
    throw unknownCommand(first, second, ALL_COMMANDS);
  const text = overview(group.length === 0 ? ALL_COMMANDS : group);
  const isAsked = words.includes('--help') || words.includes('-h');
  if (isAsked) io.out(text);
  else io.err(text);
  return isAsked ? EXIT.OK : EXIT.USAGE;
}

/** Never shows what was given: it may be a secret. */
function checkOperands({ name, operands }: Command, given: number): void {
  const missing = operands[given];
  if (missing !== undefined && !missing.startsWith('['))
    throw misused(`${name} needs ${missing}. See keystile ${name} --help.`);
  if (given <= operands.length) return;
  const expected = operands.length === 0 ? 'no arguments' : `only ${operands.join(' ')}`;
  throw misused(`${name} takes ${expected} besides its flags, got ${given}. See keystile ${name} --help.`);
}

function report(error: unknown, io: Io, isJson: boolean): number {
  const failure = toCliError(error);
  const { lines, details } = failure;
  if (isJson) io.err(jsonLine({ error: { message: lines.join('\n'), ...details } }));
  else for (const line of lines) io.err(`${visible(line)}\n`);
  return failure.exitCode;
}

/** Errors whose message tells the user what is wrong. */
const USER_ERRORS = [
  FolderError,
  BackupError,
  DataError,
  AddressError,
  WrongServer,
  StorageUnavailable,
  StorageOutcomeUnknown,
];

function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof AppError) return new CliError(EXIT.FAILED, [error.message], { code: error.code });
  if (USER_ERRORS.some((kind) => error instanceof kind)) return new CliError(EXIT.FAILED, [(error as Error).message]);
  const reason = error instanceof Error ? error.message : String(error);
  return new CliError(EXIT.FAILED, [`This is a bug in Keystile. Please report it: ${reason}`]);
}

/**
 * The commands that are made from the table of endpoints, which `npm run docs` makes from the routes: to read them here would load the whole
 * service for every command.
 */
export const ENDPOINT_COMMANDS: readonly Command[] = (endpoints as unknown as readonly Endpoint[]).map(endpointCommand);

/** An error of the service names endpoints. */
const COMMAND_NAMES = Object.fromEntries(
  [...COMMANDS, ...ENDPOINT_COMMANDS].flatMap(({ endpoint, name }) =>
    endpoint === undefined ? [] : [[endpoint, `keystile ${name}`]],
  ),
);

const completionCommand: Command = {
  name: 'completion',
  summary: 'Print a script that completes commands and flags in your shell when you press Tab.',
  operands: ['SHELL'],
  operandMeaning: 'bash, zsh or fish.',
  flags: {},
  takesSettings: false,
  examples: [
    'source <(keystile completion bash)',
    'keystile completion fish > ~/.config/fish/completions/keystile.fish',
  ],
  async run({ io, operands: [shell = ''] }) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) throw misused(`SHELL must be bash, zsh or fish, got ${repeatable(shell)}.`);
    io.out(script);
    return EXIT.OK;
  },
};

/** Every command, in the order of the help: those of one noun stand together, where its first one stands. */
export const ALL_COMMANDS: readonly Command[] = sortedByNoun([...COMMANDS, ...ENDPOINT_COMMANDS, completionCommand]);

function sortedByNoun(commands: readonly Command[]): Command[] {
  return [...Map.groupBy(commands, ({ name }) => name.split(' ')[0]).values()].flat();
}

/** Says that a command is unknown, and which one was probably meant. */
export function unknownCommand(first: string, second: string | undefined, commands: readonly Command[]): CliError {
  const present = second === undefined ? null : presentName(`${first} ${second}`, commands);
  if (present !== null) return misused(`${first} ${second} is not a command any more. Write keystile ${present}.`);
  const { noun, verb } = inOrder(first, second, commands);
  const { near, list } =
    noun === null ? withoutNoun(verb, second, commands) : { near: nearestOf(noun, verb, commands), list: listOf(noun) };
  // A second word behind no noun may be a secret: keystile verify KEY.
  const words = noun === null || second === undefined ? [first] : [first, second];
  const written = words.map((word) => (IS_WORD.test(word) ? word : '...')).join(' ');
  return misused(`Unknown command "${written}". ${near === null ? list : `Did you mean "${near}"?`}`);
}

/** The command that was called by this name once, with a word that is another one now. */
function presentName(written: string, commands: readonly Command[]): string | null {
  const present = written.replaceAll(/[a-z]+/g, userWord);
  return present !== written && commands.some(({ name }) => name === present) ? present : null;
}

interface Hint {
  readonly near: string | null;
  /** Where the commands are listed, for when none is near. */
  readonly list: string;
}

const listOf = (noun: string): string => `keystile ${noun} --help lists the commands of ${noun}.`;
const LIST = 'keystile --help lists them all.';

function withoutNoun(verb: string | undefined, second: string | undefined, commands: readonly Command[]): Hint {
  if (second === 'version') return { near: '--version', list: LIST };
  const alike = commandsWith(verb, commands);
  if (alike.length > FEW) return { near: null, list: `Name what it applies to, such as "${alike[0]}". ${LIST}` };
  return { near: alike[0] ?? null, list: LIST };
}

/** A verb that more commands have is not enough to suggest one of them. */
const FEW = 2;
/** What may be a mistyped command. Anything else may be a secret, also one that was imported, and is not repeated. */
const IS_WORD = /^[A-Za-z-]{1,20}$/;

/** Words for what has another name here. */
const NOUNS: Readonly<Record<string, string>> = {
  identity: 'customer',
  user: 'customer',
  start: 'serve',
  run: 'serve',
};
const VERBS: Readonly<Record<string, string>> = { add: 'create', ls: 'list', new: 'create', show: 'get' };

interface Meant {
  readonly noun: string | null;
  readonly verb: string | undefined;
}

/** The noun and the verb, in the right order: `list keys` and `list-keys` are `key list`. A verb alone has no noun. */
function inOrder(first: string, second: string | undefined, commands: readonly Command[]): Meant {
  const nouns = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  const verbs = new Set(commands.map(({ name }) => name.split(' ')[1] ?? ''));
  const isVerb = (word: string): boolean => verbs.has(VERBS[word] ?? word);
  const known = nounOf(first, nouns);
  if (known !== null) return { noun: known, verb: second };
  const [one = '', other] = second === undefined && IS_WORD.test(first) ? first.split(/-|(?=[A-Z])/) : [first, second];
  if (isVerb(one)) return { noun: other === undefined ? null : nounOf(other.toLowerCase(), nouns), verb: one };
  return { noun: nearestWord(first, nouns), verb: second };
}

/** Also in the plural, and by another name. */
function nounOf(word: string, nouns: readonly string[]): string | null {
  const singular = word.replace(/ies$/, 'y').replace(/s$/, '');
  return [word, singular].map((each) => NOUNS[each] ?? each).find((each) => nouns.includes(each)) ?? null;
}

/** The commands with this verb, where only the verb was written: first that of keys. */
function commandsWith(verb: string | undefined, commands: readonly Command[]): readonly string[] {
  if (verb === undefined) return [];
  const wanted = VERBS[verb] ?? verb;
  const found = commands.filter(({ name }) => name.split(' ')[1] === wanted).map(({ name }) => name);
  return found.toSorted((a, b) => Number(b.startsWith('key ')) - Number(a.startsWith('key ')));
}

/** The command of this noun whose verb is nearest. Null: the noun has several, and none is near. */
function nearestOf(noun: string, verb: string | undefined, commands: readonly Command[]): string | null {
  const own = commands.filter(({ name }) => name === noun || name.startsWith(`${noun} `));
  if (own.some(({ name }) => name === noun)) return noun;
  const verbs = own.map(({ name, isDestructive }) => ({ verb: name.slice(noun.length + 1), isDestructive }));
  const harmless = verbs.filter(({ isDestructive }) => isDestructive !== true).map((each) => each.verb);
  const destructive = verbs.filter(({ isDestructive }) => isDestructive === true).map((each) => each.verb);
  if (verb === undefined) return null;
  const near = nearestVerb(VERBS[verb] ?? verb, harmless, destructive) ?? verbForFile(noun, own);
  return near === null ? null : `${noun} ${near}`;
}

/** `backup ./FILE` is short for `backup create ./FILE`. A word that is no path may be a mistyped verb, and is not taken for a file. */
export function inFull(words: readonly string[], commands: readonly Command[]): readonly string[] {
  const [noun = '', file = '', ...rest] = words;
  if (file.startsWith('-') || !/[./]/.test(file)) return words;
  const verb = verbForFile(noun, commands);
  return verb === null ? words : [noun, verb, file, ...rest];
}

/** A word that is near no verb may be the file that `create` makes: `keystile backup FILE`. */
function verbForFile(noun: string, own: readonly Command[]): string | null {
  return own.some(({ name, operands }) => name === `${noun} create` && operands[0] === 'FILE') ? 'create' : null;
}

/** What takes something away is suggested only to whoever has nearly written it. */
function nearestVerb(written: string, harmless: readonly string[], destructive: readonly string[]): string | null {
  const meant = destructive.find((verb) => verb === written || isOneEditAway(written, verb));
  const near = nearestWord(written, harmless);
  if (meant === undefined) return near;
  return near !== null && isOneEditAway(written, near) ? near : meant;
}

/** The hidden command that a script calls. Its operands are the words of the command line; the last one is still being written. */
const COMPLETE = '__complete';

/** Each line of an answer is a word, a tab and its meaning. When the answer is empty, the shell completes names of files. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Completion of keystile for bash. Load it with: source <(keystile completion bash)
_keystile() {
  local word meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r word meaning; do COMPREPLY+=("$word"); done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _keystile keystile
`,
  zsh: `#compdef keystile
# Completion of keystile for zsh. Load it with: source <(keystile completion zsh)
_keystile() {
  local -a found
  local word meaning
  while IFS=$'\\t' read -r word meaning; do found+=("\${word//:/\\\\:}:$meaning"); done < <("$words[1]" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe 'keystile' found; else _files; fi
}
compdef _keystile keystile
`,
  fish: `# Completion of keystile for fish. Load it with: keystile completion fish | source
function __keystile_words
    set -l given (commandline -opc)
    $given[1] ${COMPLETE} $given[2..-1] (commandline -ct) 2>/dev/null
end
complete -c keystile -f -n 'count (__keystile_words) >/dev/null' -a '(__keystile_words)'
`,
};

/** Settings that are useful with every command. `serve` has all of them. */
const USUAL_SETTINGS = ['url', 'data'];

/** What can follow these words, each with its meaning: a noun, a verb, a flag, or a word that a flag takes. */
function completed(commands: readonly Command[], words: readonly string[]): string {
  const current = words.at(-1) ?? '';
  const verbs = words.length === 2 ? verbsOf(commands, words[0] ?? '') : {};
  const offered = words.length < 2 ? nounsOf(commands) : { ...verbs, ...flagsAfter(commands, words) };
  // Flags are many: they are offered to whoever has begun to write one.
  const isOffered = (word: string): boolean => (current === '' ? !word.startsWith('-') : word.startsWith(current));
  const found = Object.entries(offered).filter(([word]) => isOffered(word));
  return found.map(([word, meaning]) => `${word}\t${firstSentence(meaning)}\n`).join('');
}

/** The flags of the command that these words begin with, or the words that the last flag takes. */
function flagsAfter(commands: readonly Command[], words: readonly string[]): Record<string, string> {
  const [noun = '', verb = ''] = words;
  const command = commands.find(({ name }) => name === `${noun} ${verb}`) ?? commands.find(({ name }) => name === noun);
  if (command === undefined) return {};
  const isUsual = (flag: string): boolean => noun === 'serve' || USUAL_SETTINGS.includes(flag);
  const flags = Object.entries(flagsOf(command)).filter(([flag, spec]) => !isSettingFlag(flag, spec) || isUsual(flag));
  const [, asked] = flags.find(([flag]) => `--${flag}` === words.at(-2)) ?? [];
  if (asked?.value?.includes('|') === true)
    return Object.fromEntries(asked.value.split('|').map((word) => [word, asked.meaning]));
  return Object.fromEntries(flags.map(([flag, { meaning }]) => [`--${flag}`, meaning]));
}

/** The first words of all commands. */
function nounsOf(commands: readonly Command[]): Record<string, string> {
  const byNoun = Map.groupBy(commands, ({ name }) => name.split(' ')[0] ?? '');
  const meant = [...byNoun].map(([noun, own]): [string, string] => {
    const alone = own.find(({ name }) => name === noun);
    return [noun, alone?.summary ?? own.map(({ name }) => name.slice(noun.length + 1)).join(', ')];
  });
  return { ...Object.fromEntries(meant), '--help': 'Show the help.', '--version': 'Show the version.' };
}

function verbsOf(commands: readonly Command[], noun: string): Record<string, string> {
  const own = commands.filter(({ name }) => name.startsWith(`${noun} `));
  return Object.fromEntries(own.map(({ name, summary }) => [name.slice(noun.length + 1), summary]));
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0].slice(0, -1) ?? text;
}
