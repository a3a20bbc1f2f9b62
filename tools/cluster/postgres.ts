import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { Client } from 'pg';

import { give } from './account.ts';
import { appendSettings, copyRunning, copyTemplate, makeStandby } from './data.ts';
import { postgresKit } from './kit.ts';
import { freePort } from './ports.ts';
import { Postmaster, type ServerFiles } from './postmaster.ts';
import { until } from './wait.ts';
import { Watchdog } from './watchdog.ts';

export interface PostgresOptions {
  /** Settings of postgresql.conf. They replace the defaults below. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Flushes to the disk (fsync). Without it a killed server loses nothing either, because the system keeps written data. */
  readonly durable?: boolean;
}

type Row = Record<string, unknown>;

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Includes the SQLSTATE, which is the same in every language.
  log_line_prefix: '%m [%p] %e ',
  max_connections: '200',
  shared_buffers: '64MB',
  wal_level: 'replica',
  // What asks a standby is not cancelled because the primary has removed old rows.
  max_standby_streaming_delay: '-1',
  // A standby that was disconnected for a while can catch up.
  wal_keep_size: '256MB',
  // Uses files of the data folder, which are deleted with it. A killed server would leave files in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
};

/**
 * A real PostgreSQL with its own data folder, on a fixed port of 127.0.0.1. It does not outlive this process: when this process
 * ends without removing it, even by SIGKILL, the watchdog removes it.
 */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #files: ServerFiles;
  readonly #watchdog: Watchdog;
  #postmaster: Postmaster | null = null;

  private constructor(folder: string) {
    this.port = freePort();
    this.#files = { data: join(folder, 'data'), log: join(folder, 'log'), port: this.port };
    this.#watchdog = new Watchdog(folder);
  }

  static start({ settings = {}, durable = false }: PostgresOptions = {}): Promise<PostgresServer> {
    return PostgresServer.#startOn(async (data) => {
      await copyTemplate((await postgresKit()).template, data);
      await appendSettings(data, { ...SETTINGS, fsync: durable ? 'on' : 'off', ...settings });
    });
  }

  static async #startOn(makeData: (data: string) => Promise<void>): Promise<PostgresServer> {
    const { base } = await postgresKit();
    const folder = await mkdtemp(join(base, 'keystile-cluster-'));
    const server = new PostgresServer(folder);
    try {
      await give(folder);
      await makeData(server.#files.data);
      await server.#launch();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** Process id of the postmaster, whose children do the work. */
  get pid(): number {
    if (this.#postmaster === null) throw new Error('PostgreSQL is not running.');
    return this.#postmaster.pid;
  }

  get hostPort(): string {
    return `127.0.0.1:${this.port}`;
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@${this.hostPort}/${database}`;
  }

  /** Creates a database, as a copy of the template when one is named, and returns its URL. */
  async createDatabase(template = 'template1'): Promise<string> {
    const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
    await this.query(`CREATE DATABASE ${name} TEMPLATE "${template}"`);
    return this.url(name);
  }

  async dropDatabase(url: string): Promise<void> {
    await this.query(`DROP DATABASE IF EXISTS "${new URL(url).pathname.slice(1)}" WITH (FORCE)`);
  }

  /** Runs one statement on a new connection. */
  query(sql: string, database?: string): Promise<Row[]> {
    return this.#connected(async (client) => (await client.query<Row>(sql)).rows, database);
  }

  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#postmaster?.stop(mode);
    this.#postmaster = null;
  }

  /** Also starts a server that was stopped or killed. */
  async restart(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.stop(mode);
    await this.#launch();
  }

  /** Kills all its processes at once, like a crash of the machine, except that written data is kept by the system. */
  async kill(): Promise<void> {
    await this.#postmaster?.killAll();
    this.#postmaster = null;
  }

  /** Starts a standby that streams from this server, which keeps working. */
  async startStandby(name: string): Promise<PostgresServer> {
    const standby = await PostgresServer.#startOn((data) =>
      this.#connected(async (client) => {
        await client.query(`SELECT pg_backup_start('standby', fast => true)`);
        await copyRunning(this.#files.data, data);
        const { rows } = await client.query<{ labelfile: string }>(`SELECT * FROM pg_backup_stop(false)`);
        const primary = `host=127.0.0.1 port=${this.port} user=postgres sslmode=disable application_name=${name}`;
        await makeStandby(data, rows[0]?.labelfile ?? '', primary);
      }),
    );
    await this.#untilReplicating([name], ['async', 'potential', 'sync', 'quorum']);
    return standby;
  }

  /** From now on a commit waits until one of these standbys has it on disk. Null: commits do not wait. */
  async synchronousWith(names: readonly string[] | null): Promise<void> {
    const value = names === null ? '' : `ANY 1 (${names.map((name) => `"${name}"`).join(', ')})`;
    await this.query(`ALTER SYSTEM SET synchronous_standby_names = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
    await until('the setting is read', async () => {
      const [row] = await this.query(`SELECT current_setting('synchronous_standby_names') AS value`);
      return row?.['value'] === value;
    });
    await this.#untilReplicating(names ?? [], ['sync', 'quorum']);
    // Commits wait only after the checkpointer has read the setting, which it does before a checkpoint.
    await this.query('CHECKPOINT');
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote()');
    await until('the standby is the primary', async () => {
      const [row] = await this.query('SELECT pg_is_in_recovery() AS waits');
      return row?.['waits'] === false;
    });
  }

  /** The last lines of the server's log. */
  logTail(lines = 50): string {
    return readFileSync(this.#files.log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Stops the server immediately and deletes its data. */
  async remove(): Promise<void> {
    await this.stop('immediate');
    await this.#watchdog.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  async #launch(): Promise<void> {
    this.#postmaster = await Postmaster.start(
      this.#files,
      (pid) => this.#watchdog.watch(pid, 'QUIT'),
      () => this.#watchdog.forget(),
    );
  }

  async #untilReplicating(names: readonly string[], states: readonly string[]): Promise<void> {
    await until(`${names.join(', ')} replicate (${states.join(', ')})`, async () => {
      const rows = await this.query(`SELECT application_name, sync_state FROM pg_stat_replication
                                     WHERE state = 'streaming'`);
      const ready = rows.filter((row) => states.includes(String(row['sync_state'])));
      return names.every((name) => ready.some((row) => row['application_name'] === name));
    });
  }

  async #connected<Result>(work: (client: Client) => Promise<Result>, database?: string): Promise<Result> {
    const client = new Client({ connectionString: this.url(database) });
    // The current statement fails by itself. Without a listener, this process would fail too.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}
