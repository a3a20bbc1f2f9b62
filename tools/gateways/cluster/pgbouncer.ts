import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { give, postgresAccount } from '../../cluster/account.ts';
import { freePort } from '../../cluster/ports.ts';
import { findBinary, Running } from '../gateway.ts';

export type PoolMode = 'session' | 'transaction' | 'statement';

export const pgbouncer = { name: 'pgbouncer', binary: findBinary('pgbouncer'), install: 'apt-get install pgbouncer' };

/** Sessions for two nodes, which use 12 each, and for their starts. */
const POOL_SIZE = 40;

/** A PgBouncer in front of a PostgreSQL that asks for no password. It does not run as root. */
export class PgBouncer implements AsyncDisposable {
  readonly port = freePort();
  readonly #running: Running;
  readonly #folder: string;
  readonly #target: number;

  private constructor(target: number, folder: string, mode: PoolMode) {
    this.#folder = folder;
    this.#target = target;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n');
    const file = this.#configure(mode);
    const { prefix, ids } = postgresAccount();
    const user = ids === null ? [] : ['-u', 'nobody'];
    this.#running = new Running([...prefix, pgbouncer.binary ?? 'pgbouncer', ...user, file]);
  }

  static async start(target: number, folder: string, mode: PoolMode): Promise<PgBouncer> {
    const started = new PgBouncer(target, folder, mode);
    // It reads its configuration again as the user that it has become, by way of the folder above.
    const files = ['users.txt', 'pgbouncer.ini'].map((name) => join(folder, name));
    for (const path of [dirname(folder), folder, ...files]) await give(path);
    await started.#running.listening(started.port);
    return started;
  }

  /** The address of a database, by way of this pooler. */
  through(url: string): string {
    return url.replace(`:${this.#target}/`, `:${this.port}/`);
  }

  /** What its documentation calls RELOAD. */
  turnTo(mode: PoolMode): void {
    this.#configure(mode);
    this.#running.child.signalGroup('SIGHUP');
  }

  #configure(mode: PoolMode): string {
    const file = join(this.#folder, 'pgbouncer.ini');
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: this.port,
      unix_socket_dir: '',
      auth_type: 'trust',
      auth_file: join(this.#folder, 'users.txt'),
      pool_mode: mode,
      default_pool_size: POOL_SIZE,
      max_client_conn: 200,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    writeFileSync(file, `[databases]\n* = host=127.0.0.1 port=${this.#target}\n\n[pgbouncer]\n${lines.join('')}`);
    return file;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#running[Symbol.asyncDispose]();
  }
}
