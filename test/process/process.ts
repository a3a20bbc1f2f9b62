import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const PROJECT = join(import.meta.dir, '..', '..');

/** A folder for one test, removed with everything in it. */
export class TempFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'keystile-e2e-'));

  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface Launch {
  /** KEYSTILE_... settings; ports are free ones unless given. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly cwd?: string;
  /** In a process group of its own, as a shell starts it. */
  readonly ownGroup?: boolean;
  /** On a terminal, as a person starts it; all that it shows is then kept as standard output. */
  readonly onTerminal?: boolean;
}

/** Runs the program of a checkout, without the launcher. */
export function programOf(checkout: string): string[] {
  return withBun(join(checkout, 'src/main.ts'));
}

/**
 * Runs the executable file of `npm run test:binary`, else the bundle of this checkout, which starts in a third of the time of its sources. A
 * run without the launcher of the tests has neither.
 */
export const PROGRAM =
  process.env['KEYSTILE_TEST_BINARY'] === undefined
    ? withBun(process.env['KEYSTILE_TEST_PROGRAM'] ?? join(PROJECT, 'src/main.ts'))
    : [process.env['KEYSTILE_TEST_BINARY']];
export const SERVE = [...PROGRAM, 'serve'];
/** The last line of a start, whole: a terminal may hand it over in parts. */
export const BANNER_END = /^Ctrl-C stops it.*\n/m;

function withBun(main: string): string[] {
  return [process.execPath, '--no-env-file', '--no-install', main];
}

/** A child process whose output is kept; killed at the end of the block that holds it, however that ends. */
export class Child {
  readonly pid: number;
  stdout = '';
  stderr = '';
  readonly #process: Bun.Subprocess;
  readonly #group: boolean;
  readonly #streams: Promise<unknown>;
  #onOutput: (() => void)[] = [];

  constructor({ command = SERVE, settings = {}, cwd, ownGroup = false, onTerminal = false }: Launch) {
    this.#group = ownGroup;
    const options = { cwd: cwd ?? PROJECT, env: childEnvironment(settings), detached: ownGroup };
    if (onTerminal) {
      const decoder = new TextDecoder();
      const data = (_terminal: unknown, bytes: Uint8Array): void => {
        this.#keep((text) => (this.stdout += text), decoder.decode(bytes, { stream: true }).replaceAll('\r', ''));
      };
      const { promise: ended, resolve: exit } = Promise.withResolvers<void>();
      this.#process = Bun.spawn([...command], { ...options, terminal: { data, exit: () => exit() } });
      // What was written last is handed over after the end of the process.
      this.#streams = ended;
    } else {
      const child = Bun.spawn([...command], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
      this.#process = child;
      this.#streams = Promise.all([
        this.#read(child.stdout, (text) => (this.stdout += text)),
        this.#read(child.stderr, (text) => (this.stderr += text)),
      ]);
    }
    this.pid = this.#process.pid;
  }

  /** The exit code once it has gone, and with it every process that it had given its output to. */
  async exited(): Promise<number> {
    await this.#streams;
    await this.#process.exited;
    return this.#process.exitCode ?? -1;
  }

  /** As a person closes the window. */
  closeTerminal(): void {
    this.#process.terminal?.close();
  }

  /** To this process alone. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** To its whole group, as a terminal does on Ctrl-C. */
  signalGroup(signal: NodeJS.Signals): void {
    process.kill(-this.pid, signal);
  }

  async kill9(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process.exited;
  }

  /** Waits until the standard output matches; a process that ends before fails the test with what it said. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match !== null) return match;
      const more = new Promise<'more'>((resolve) => this.#onOutput.push(() => resolve('more')));
      if ((await Promise.race([more, this.exited()])) === 'more' || pattern.test(this.stdout)) continue;
      throw new Error(
        `ended with ${this.#process.exitCode} before it printed ${pattern}:\n${this.stdout}${this.stderr}`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      if (this.#group) this.signalGroup('SIGKILL');
      else this.#process.kill('SIGKILL');
    }
    await this.#process.exited;
  }

  async #read(stream: ReadableStream<Uint8Array>, keep: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.#keep(keep, decoder.decode(chunk, { stream: true }));
  }

  #keep(keep: (text: string) => void, text: string): void {
    keep(text);
    for (const wake of this.#onOutput.splice(0)) wake();
  }
}

function childEnvironment(settings: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(KEYSTILE_|npm_|BUN_JSC_)/.test(name));
  return {
    ...Object.fromEntries(inherited),
    NODE_ENV: 'production',
    KEYSTILE_PORT: '0',
    KEYSTILE_METRICS_PORT: '0',
    // The configuration, which a log for a machine begins with, is asked for by the test that reads it.
    KEYSTILE_LOG_LEVEL: 'warn',
    // The lab's PostgreSQL does not flush: a killed server loses nothing without it either.
    ...('KEYSTILE_DATABASE_URL' in settings ? { KEYSTILE_ALLOW_FSYNC_OFF: 'on' } : {}),
    // Few enough for the limit of open files of any machine: a lower limit is warned of.
    KEYSTILE_MAX_CONNECTIONS: '500',
    ...settings,
  };
}

/** A start that is expected to end by itself. A line of the log that tells why is shown as its reason, as a terminal shows it. */
export async function runToEnd(launch: Launch): Promise<{ code: number; stdout: string; stderr: string }> {
  await using child = new Child(launch);
  const code = await child.exited();
  const shown = child.stderr.replaceAll(
    /^\{.*"message":"the service (?:cannot start|has failed)".*\}$/gm,
    (line) => (JSON.parse(line) as { reason: string }).reason,
  );
  return { code, stdout: child.stdout, stderr: shown };
}
