import { Watchdog } from '../cluster/watchdog.ts';
import { until } from '../cluster/wait.ts';
import { Child } from '../../test/process/process.ts';
import { isListening } from './client.ts';
import type { Change } from './documented.ts';

/** A kind of gateway that may be installed on this machine. */
export interface GatewayKind {
  readonly name: 'nginx' | 'haproxy';
  /** Null: it is not installed. */
  readonly binary: string | null;
  readonly install: string;
  start(options: GatewayOptions): Promise<Gateway>;
}

export interface GatewayOptions {
  /** Of the node behind it. */
  readonly nodePort: number;
  /** Where its files go. */
  readonly folder: string;
  /** Differences to the documented configuration. */
  readonly changes?: readonly Change[];
}

/** A gateway that runs. */
export interface Gateway extends AsyncDisposable {
  readonly port: number;
  /** Requests that it has sent to the node so far, by its own account. */
  forwarded(): Promise<number>;
}

/** Debian puts them where the path of a user does not lead. */
export function findBinary(name: string): string | null {
  return Bun.which(name, { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` });
}

/** A process that is ended with this one at the latest. */
export class Running implements AsyncDisposable {
  readonly child: Child;
  readonly #watchdog = new Watchdog();

  constructor(command: readonly string[]) {
    this.child = new Child({ command, cwd: '/', ownGroup: true });
    this.#watchdog.watch(-this.child.pid, 'KILL');
  }

  /** Waits until it takes connections; a process that ends before is an error with what it said. */
  async listening(port: number): Promise<void> {
    let hasEnded = false;
    void this.child.exited().then(() => (hasEnded = true));
    await until(`port ${port} is open`, () => hasEnded || isListening(port));
    if (!hasEnded) return;
    throw new Error(`it ended before it listened:\n${this.child.stdout}${this.child.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
    this.#watchdog.forget();
    await this.#watchdog.end();
  }
}
