import { failed, misused } from './cliError.ts';
import type { Call } from './command.ts';
import type { FlagTable } from './flags.ts';
import { visible } from './output/print.ts';
import { namedAsGiven } from '../config/read.ts';
import type { Config } from '../config/variables.ts';
import { localUrl } from '../basics/localUrl.ts';

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/** The exit code of a process that SIGINT ends (128 + 2). */
const INTERRUPTED = 130;

/** Asks on standard error, so that the result of the command can be piped, and reads a line without showing it. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // Raw mode starts before the question, so that a quick answer is not shown either.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stderr.write(question);
  try {
    return await readLine(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** Asks on standard error and reads a line. The terminal shows what is typed. Ctrl-D is an empty answer. */
export async function askLine(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stdin.setEncoding('utf8');
  stderr.write(question);
  const line = Promise.withResolvers<string>();
  const onText = (text: string): void => line.resolve(text.replace(/[\r\n]+$/, ''));
  const onEnd = (): void => line.resolve('');
  stdin.once('data', onText).once('end', onEnd);
  // An earlier question has paused it.
  stdin.resume();
  try {
    return await line.promise;
  } finally {
    stdin.off('data', onText).off('end', onEnd);
    stdin.pause();
  }
}

/** In raw mode the terminal does not handle editing keys, so this function handles those that matter. */
function readLine(stdin: NodeJS.ReadStream): Promise<string> {
  const line = Promise.withResolvers<string>();
  let typed = '';
  const onText = (text: string): void => {
    for (const character of text) {
      if (character === '\r' || character === '\n' || character === CTRL_D) return line.resolve(typed);
      if (character === CTRL_C) {
        stdin.setRawMode(false);
        process.exit(INTERRUPTED);
      }
      typed = character === BACKSPACE || character === DELETE ? typed.slice(0, -1) : typed + character;
    }
  };
  stdin.on('data', onText);
  // An earlier question has paused it.
  stdin.resume();
  return line.promise.finally(() => stdin.off('data', onText));
}

/** The flag of commands that ask first. */
export const YES_FLAG: FlagTable = { yes: { value: null, meaning: 'Do not ask for confirmation.' } };

/** The service that `findService` finds, for a person. */
export function serviceOf(config: Config): string {
  if (config.url !== null) return config.url;
  if (config.port === 0) return databaseOf(config);
  const url = localUrl(config.host, config.port, config.tlsCert !== null);
  return `${url}, or on ${databaseOf(config)} if nothing answers there`;
}

/** The database of commands that never ask over HTTP, for a person. */
export function databaseOf({ databaseUrl, data, origins }: Config): string {
  return databaseUrl === null ? `the data in ${data}` : namedAsGiven('the database of KEYSTILE_DATABASE_URL', origins);
}

/** Asks before something is taken away, and says where. Without a terminal, --yes must say it. */
export async function confirm({ io, flags }: Call, command: string, what: string, where?: string): Promise<void> {
  if (flags.has('yes')) return;
  if (io.ask === undefined || io.ask === null)
    throw misused(`${command} asks for confirmation, and standard input is not a terminal. Add --yes to confirm.`);
  const place = where === undefined ? '' : `, on ${visible(where)}`;
  const answer = await io.ask(`${visible(what)}${place}. Continue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw failed('Nothing was changed.');
}
