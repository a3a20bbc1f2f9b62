import { runCli } from '../../../src/cli/cli.ts';
import type { Io } from '../../../src/cli/io.ts';
import { ROOT_KEY, Server } from '../server.ts';
import { TempFolder } from '../process.ts';

/** The result of a command. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunSetup {
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Standard error is a terminal. */
  readonly isTerminal?: boolean;
  /** What a pipe on standard input brings. */
  readonly piped?: string;
  /** What the user types when asked. Absent: standard input is not a terminal. */
  readonly typed?: string;
  /** What the user answers to a question. Absent: standard input is not a terminal. */
  readonly answered?: string;
  /** Where it writes, for who looks at it while the command runs. */
  readonly written?: { out: string; err: string };
}

/** Runs a command inside this process, with its own environment and input. */
export async function keystile(words: readonly string[], setup: RunSetup = {}): Promise<Ran> {
  const written = setup.written ?? { out: '', err: '' };
  const io: Io = {
    environment: setup.environment ?? {},
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    isTerminal: setup.isTerminal ?? false,
    showsSecrets: false,
    readStdin: async () => setup.stdin ?? '',
    ...(setup.piped === undefined ? {} : { streamStdin: () => chunksOf(setup.piped ?? '') }),
    askSecret: setup.typed === undefined ? null : async () => setup.typed ?? '',
    ask:
      setup.answered === undefined
        ? null
        : async (question) => {
            written.err += question;
            return setup.answered ?? '';
          },
  };
  return { code: await runCli(words, io), ...written };
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Nothing listens on this port: it needs privileges, and its service is no longer used. */
export const SILENT_PORT = '1';

/** A data folder with a root key, with or without a running server. */
export interface Situation extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  readonly rootKey: string;
  /** Runs a command that must succeed. Returns its standard output. */
  ok(...words: string[]): Promise<string>;
  /** The same with --json. */
  json(...words: string[]): Promise<Record<string, unknown>>;
  run(words: readonly string[], setup?: RunSetup): Promise<Ran>;
}

export async function withServer(settings: Readonly<Record<string, string>> = {}): Promise<Situation> {
  const folder = new TempFolder();
  const server = await Server.start(folder, { settings });
  const environment = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: String(server.port), ...settings };
  return situation(environment, ROOT_KEY, async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
}

export async function withoutServer(settings: Readonly<Record<string, string>> = {}): Promise<Situation> {
  const folder = new TempFolder();
  const environment = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: SILENT_PORT, ...settings };
  const made = await keystile(['root-key', 'create', '--right', '*', '--json'], { environment });
  const { key } = JSON.parse(made.out) as { key: string };
  return situation(environment, key, async () => folder[Symbol.dispose]());
}

export const SITUATIONS = { 'while a server runs': withServer, 'while no server runs': withoutServer };

function situation(environment: Record<string, string>, rootKey: string, end: () => Promise<void>): Situation {
  const run = (words: readonly string[], setup: RunSetup = {}): Promise<Ran> => {
    return keystile(words, {
      ...setup,
      environment: { ...environment, KEYSTILE_ROOT_KEY: rootKey, ...setup.environment },
    });
  };
  const ok = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await run(words);
    if (code !== 0) throw new Error(`keystile ${words.join(' ')} ended with ${code}: ${err}`);
    return out;
  };
  const json = async (...words: string[]): Promise<Record<string, unknown>> => {
    return JSON.parse(await ok(...words, '--json')) as Record<string, unknown>;
  };
  return { environment, rootKey, run, ok, json, [Symbol.asyncDispose]: end };
}
