import { PostgresServer } from '../../cluster/postgres.ts';
import { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import type { Storage } from '../../src/storage/port.ts';
import type { VirtualClock } from '../harness/clock.ts';
import { type OpenedStorage, RETENTION_MS } from './opened.ts';

/** One server for all tests of this process; it goes with the process. */
let started: Promise<{ server: PostgresServer; template: string }> | null = null;

/** An empty database with the schema in it, copied for every test. */
async function start(): Promise<{ server: PostgresServer; template: string }> {
  const server = await PostgresServer.start();
  const url = await server.createDatabase();
  await (await open(url, { nowMs: () => 0 })).close();
  return { server, template: new URL(url).pathname.slice(1) };
}

export async function postgresServer(): Promise<PostgresServer> {
  return (await (started ??= start())).server;
}

/** Opens a node on any database of the server. */
export function open(url: string, clock: Pick<VirtualClock, 'nowMs'>): Promise<PostgresStorage> {
  return PostgresStorage.open({
    url,
    node: crypto.randomUUID(),
    location: 'test',
    version: '0',
    nowMs: () => clock.nowMs(),
    monotonicMs: () => performance.now(),
    random: Math.random,
    newWorkspaceId: () => 'ws_conformance',
    poolSize: 4,
    maxWaiting: 20_000,
    idempotencyRetentionMs: RETENTION_MS,
    staleMaxMs: 1000,
    observe: { committed() {}, refused() {} },
    isTimeVirtual: true,
  });
}

/** A node on a database of its own, with a ledger whose time is the test's. */
export class PostgresInDatabase implements OpenedStorage {
  readonly #url: string;
  readonly #clock: VirtualClock;
  readonly #ownsDatabase: boolean;
  #storage: PostgresStorage;

  private constructor(url: string, clock: VirtualClock, storage: PostgresStorage, ownsDatabase: boolean) {
    this.#url = url;
    this.#clock = clock;
    this.#storage = storage;
    this.#ownsDatabase = ownsDatabase;
  }

  static async start(clock: VirtualClock): Promise<PostgresInDatabase> {
    const { server, template } = await (started ??= start());
    const url = await server.createDatabase(template);
    return new PostgresInDatabase(url, clock, await open(url, clock), true);
  }

  get storage(): Storage {
    return this.#storage;
  }

  async reopen(): Promise<void> {
    await this.#storage.close();
    this.#storage = await open(this.#url, this.#clock);
  }

  /** A node that died has written what it has written: another one finds it. */
  async afterCrash(): Promise<OpenedStorage> {
    return new PostgresInDatabase(this.#url, this.#clock, await open(this.#url, this.#clock), false);
  }

  async close(): Promise<void> {
    await this.#storage.close();
    if (this.#ownsDatabase) await (await started)?.server.dropDatabase(this.#url);
  }
}
