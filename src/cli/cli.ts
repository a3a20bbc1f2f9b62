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
import { COMPLETE, completed, completionCommand } from './completion.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { endpointCommand } from './endpoint/endpointCommand.ts';
import endpoints from './endpoint/endpoints.json';
import { namingFlags, parseFlags } from './flags.ts';
import { commandHelp, flagsOf, overview } from './help.ts';
import type { Io } from './io.ts';
import { jsonLine, visible } from './output/print.ts';
import { usedProfile } from './profiles.ts';
import { login, logout, profileList, profileUse } from './commands/login.ts';
import { namingSettings } from './settings.ts';
import { inFull, unknownCommand } from './suggest.ts';
import { formerFlagsOf } from './words.ts';
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

/** Every command, in the order of the help: those of one noun stand together, where its first one stands. */
export const ALL_COMMANDS: readonly Command[] = byNoun([...COMMANDS, ...ENDPOINT_COMMANDS, completionCommand]);

function byNoun(commands: readonly Command[]): Command[] {
  return [...Map.groupBy(commands, ({ name }) => name.split(' ')[0]).values()].flat();
}
