import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The pages promise a protected route within this time, with everything that is downloaded. */
const FIVE_MINUTES_MS = 300_000;

/** A shell that runs lines, and everything that it has started. `stop` ends all of it. */
export class Program {
  output = '';
  #shell;
  #deadlineMs = performance.now() + FIVE_MINUTES_MS;

  /** @param {{ folder: string, lines?: string, environment?: Record<string, string> }} options without lines: they are typed later */
  constructor({ folder, lines, environment = {} }) {
    this.#shell = spawn('sh', lines === undefined ? ['-e'] : ['-ec', lines], {
      cwd: folder,
      env: {
        ...withoutSettings(process.env),
        npm_config_prefer_offline: 'true',
        NEXT_TELEMETRY_DISABLED: '1',
        ...environment,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, so that what the shell has started can be ended with it.
      detached: true,
    });
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) stream.on('data', (bytes) => (this.output += bytes));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => this.#interrupt());
  }

  /** @param {string} lines */
  type(lines) {
    this.#shell.stdin.write(`${lines}\n`);
  }

  /** Waits until the condition holds, and fails with the output when the shell ends before. @param {() => unknown} condition */
  async until(condition) {
    while (!(await condition())) {
      if (!this.#isRunning()) throw new Error(`It ended with exit code ${this.#shell.exitCode}:\n${this.output}`);
      if (performance.now() > this.#deadlineMs) throw new Error(`It took longer than five minutes:\n${this.output}`);
      await pause(20);
    }
  }

  /** @param {number} port */
  listens(port) {
    return this.until(() => isOpen(port));
  }

  /** Waits for the end of the shell. Returns its exit code. */
  async ended() {
    if (this.#isRunning()) await once(this.#shell, 'close');
    return this.#shell.exitCode;
  }

  async stop() {
    this.#kill('SIGTERM');
    if (this.#isRunning()) await once(this.#shell, 'exit');
    this.#kill('SIGKILL');
  }

  #isRunning() {
    return this.#shell.exitCode === null && this.#shell.signalCode === null;
  }

  #interrupt() {
    this.#kill('SIGKILL');
    process.exit(130);
  }

  #kill(signal) {
    try {
      process.kill(-Number(this.#shell.pid), signal);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

function withoutSettings(environment) {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('KEYSTILE_')));
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
