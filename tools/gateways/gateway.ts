import { Watchdog } from '../cluster/watchdog.ts';
import { until } from '../cluster/wait.ts';
import { Child } from '../../test/process/process.ts';
import { isListening } from './client.ts';
import type { Change } from './documented.ts';

/** A kind of gateway, which may be installed on this machine. */
export interface GatewayKind {
  readonly name: 'nginx' | 'haproxy';
  /** Null: the gateway is not installed. */
  readonly binary: string | null;
  readonly install: string;
  start(options: GatewayOptions): Promise<Gateway>;
}

export interface GatewayOptions {
  /** The port of the node behind the gateway. */
  readonly nodePort: number;
  /** The port of a second one; without it there is no second one. */
  readonly otherPort?: number;
  /** The folder for its files. */
  readonly folder: string;
  /** Differences to the documented configuration. */
  readonly changes?: readonly Change[];
}

/** A running gateway. */
export interface Gateway extends AsyncDisposable {
  readonly port: number;
  /** The number of requests that it has sent to the node, according to its own log. */
  forwarded(): Promise<number>;
  /** The number of answers with status 200 that it has had from the node at this port. */
  answersOf(nodePort: number): Promise<number>;
}

/** Also searches the sbin folders, which are not in the PATH of Debian users. */
export function findBinary(name: string): string | null {
  return Bun.which(name, { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` });
}

/** A process that ends with this one at the latest. */
export class Running implements AsyncDisposable {
  readonly child: Child;
  readonly #watchdog = new Watchdog();

  constructor(command: readonly string[]) {
    this.child = new Child({ command, cwd: '/', ownGroup: true });
    this.#watchdog.watch(-this.child.pid, 'KILL');
  }

  /** Waits until the process accepts connections. Fails with its output when it ends before. */
  async listening(port: number): Promise<void> {
    let hasEnded = false;
    void this.child.exited().then(() => (hasEnded = true));
    await until(`port ${port} is open`, () => hasEnded || isListening(port));
    if (!hasEnded) return;
    throw new Error(`The gateway ended before it listened:\n${this.child.stdout}${this.child.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
    this.#watchdog.forget();
    await this.#watchdog.end();
  }
}
