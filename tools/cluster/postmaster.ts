import { closeSync, openSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { asPostgres } from './account.ts';
import { postgresKit } from './kit.ts';
import { childrenOf, isAnyAlive } from './processes.ts';
import { until } from './wait.ts';

/** Where a server stores its data and its log, and the port that it listens on. */
export interface ServerFiles {
  readonly data: string;
  readonly log: string;
  readonly port: number;
}

/** A running PostgreSQL: the process that takes connections, and its children. */
export class Postmaster {
  readonly pid: number;
  readonly #data: string;
  readonly #process: Bun.Subprocess;

  private constructor(child: Bun.Subprocess, data: string) {
    this.pid = child.pid;
    this.#data = data;
    this.#process = child;
  }

  /** Calls `onStart` right after the process has started, and `onEnd` when it has ended for any reason. */
  static async start(files: ServerFiles, onStart: (pid: number) => void, onEnd: () => void): Promise<Postmaster> {
    const { postgres } = await postgresKit();
    const log = openSync(files.log, 'a');
    const child = Bun.spawn({
      ...asPostgres([postgres, '-D', files.data, '-p', String(files.port)]),
      stdio: ['ignore', log, log],
      // Ctrl-C must reach only the program that runs this server.
      detached: true,
      onExit: onEnd,
    });
    closeSync(log);
    onStart(child.pid);
    const postmaster = new Postmaster(child, files.data);
    await until('PostgreSQL takes connections', () => {
      if (!postmaster.isRunning) throw new Error(`PostgreSQL did not start:\n${readFileSync(files.log, 'utf8')}`);
      return postmaster.#takesConnections();
    });
    return postmaster;
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    this.#process.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#process.exited;
  }

  /** Each child has its own process group. They are listed while the postmaster is stopped, so that it starts no new ones. */
  async killAll(): Promise<void> {
    this.#process.kill('SIGSTOP');
    const children = childrenOf(this.pid);
    for (const pid of children) process.kill(pid, 'SIGKILL');
    this.#process.kill('SIGKILL');
    await this.#process.exited;
    await until('the children of PostgreSQL have gone', () => !isAnyAlive(children));
    await this.#freeSharedMemory();
  }

  async #takesConnections(): Promise<boolean> {
    const lines = await this.#lockFile();
    return Number(lines[0]) === this.pid && /^(ready|standby)/.test(lines[7] ?? '');
  }

  /** Frees the shared memory that a killed server leaves until its data folder is used again, which may never happen. */
  async #freeSharedMemory(): Promise<void> {
    const [, id] = (await this.#lockFile())[6]?.trim().split(/\s+/) ?? [];
    if (id !== undefined && Bun.which('ipcrm') !== null) Bun.spawnSync(['ipcrm', '-m', id], { stderr: 'ignore' });
  }

  async #lockFile(): Promise<string[]> {
    const text = await readFile(join(this.#data, 'postmaster.pid'), 'utf8').catch(() => '');
    return text.split('\n');
  }
}
