import { Client } from 'pg';

import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { TcpProxy } from '../../../tools/cluster/proxy.ts';
import { until } from '../../../tools/cluster/wait.ts';
import type { AccountChange } from '../../../src/core/accountChange.ts';
import { type PostgresOptions, PostgresStorage } from '../../../src/storage/postgres/storage.ts';

/** One server for all tests that do not harm it; it goes with the process. */
let shared: Promise<PostgresServer> | null = null;

export function sharedServer(): Promise<PostgresServer> {
  return (shared ??= PostgresServer.start());
}

/** What a server says of itself, as a node opens it: real time, real randomness. */
export function openStorage(url: string, options: Partial<PostgresOptions> = {}): Promise<PostgresStorage> {
  return PostgresStorage.open({
    url,
    node: crypto.randomUUID(),
    location: 'fault',
    version: '0',
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
    newWorkspaceId: () => `ws_${crypto.randomUUID()}`,
    poolSize: 2,
    maxWaiting: 20_000,
    idempotencyRetentionMs: 3_600_000,
    staleMaxMs: 1000,
    observe: { committed() {}, refused() {} },
    allowFsyncOff: true,
    ...options,
  });
}

/** A database of its own on the shared server, one node on it, and a network between the two that obeys the test. */
export class FaultLab implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly proxy: TcpProxy;
  readonly database: string;
  /** By way of the proxy. */
  readonly url: string;
  readonly #opened: PostgresStorage[] = [];
  readonly #clients: Client[] = [];
  #directly: Client | null = null;
  #asked: Promise<unknown> = Promise.resolve();

  private constructor(server: PostgresServer, directUrl: string, parameters: string) {
    this.server = server;
    this.proxy = TcpProxy.start({ target: server.port });
    this.database = new URL(directUrl).pathname.slice(1);
    this.url = `postgres://postgres@${this.proxy.hostPort}/${this.database}?application_name=${this.database}${parameters}`;
  }

  static async start(parameters = ''): Promise<FaultLab> {
    const server = await sharedServer();
    return new FaultLab(server, await server.createDatabase(), parameters);
  }

  async open(options: Partial<PostgresOptions> = {}): Promise<PostgresStorage> {
    const storage = await openStorage(this.url, options);
    this.#opened.push(storage);
    return storage;
  }

  /** A connection of someone else, past the proxy. */
  async client(): Promise<Client> {
    const client = new Client({ connectionString: this.server.url(this.database) });
    client.on('error', () => undefined);
    await client.connect();
    this.#clients.push(client);
    return client;
  }

  /** All on one connection past the proxy, one after another. */
  query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const answer = this.#asked.then(async () => {
      this.#directly ??= await this.client();
      return (await this.#directly.query<Record<string, unknown>>(text, values)).rows;
    });
    this.#asked = answer.catch(() => undefined);
    return answer;
  }

  /** The balances of accounts as the database has them. */
  async values(accounts: readonly number[]): Promise<number[]> {
    const rows = await this.query('SELECT id, value FROM accounts WHERE id = ANY ($1)', [[...accounts]]);
    const found = new Map(rows.map(({ id, value }) => [Number(id), Number(value)]));
    return accounts.map((id) => found.get(id) ?? NaN);
  }

  /** Connections of the nodes of this lab, as the server counts them. */
  async connections(): Promise<number> {
    const rows = await this.query(
      "SELECT count(*) AS open FROM pg_stat_activity WHERE application_name LIKE $1 || ' %'",
      [this.database],
    );
    return Number(rows[0]?.['open']);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.heal();
    await Promise.all(this.#opened.map((storage) => storage.close()));
    this.proxy.stop();
    await Promise.all(this.#clients.map((client) => client.end()));
    await this.server.dropDatabase(this.server.url(this.database));
  }
}

/** Counters with this balance, all in one change. */
export async function openCounters(storage: PostgresStorage, count: number, balance: number): Promise<number[]> {
  const accounts = await storage.ledger.reserveAccounts(count);
  const openings = accounts.map((account): AccountChange => ({
    account,
    expect: 0,
    open: 'credits',
    refill: null,
    set: balance,
    revision: 1,
  }));
  const { status } = await storage.ledger.apply({ writes: [], accounts: openings });
  if (status !== 'done') throw new Error(`the counters were not opened: ${status}`);
  return [...accounts];
}

/** Whoever waits in this session, as the server sees it. */
export async function untilBackend(lab: Pick<FaultLab, 'query'>, condition: string): Promise<number> {
  let pid = 0;
  await until(`a backend with ${condition}`, async () => {
    const [row] = await lab.query(`SELECT pid FROM pg_stat_activity WHERE ${condition}`);
    pid = Number(row?.['pid'] ?? 0);
    return pid !== 0;
  });
  return pid;
}

/** Numbers from 0 to 1 that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
