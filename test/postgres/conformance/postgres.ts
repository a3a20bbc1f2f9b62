import { Client } from 'pg';

import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import type { Storage } from '../../../src/storage/port/storage.ts';
import type { VirtualClock } from '../../support/clock.ts';
import { sharedServer } from '../../support/cluster/faultLab.ts';
import { REMEMBER_CONTENTS, REMOVE_ALL_RECORDS, RESTORE_CONTENTS } from './contents.ts';
import { type OpenedStorage, RETENTION_MS } from './openAdapter.ts';

/** Databases that a test has left as the template is: emptying one takes a third of the time of copying one. */
const reusable: string[] = [];

/** Once for all tests of this process. */
let started: Promise<{ server: PostgresServer; template: string }> | null = null;

/** A database with the schema and nothing else in it, copied where none can be used again. */
async function start(): Promise<{ server: PostgresServer; template: string }> {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await (await open(url, { nowMs: () => 0 })).close();
  await server.query(REMEMBER_CONTENTS, databaseOf(url));
  return { server, template: databaseOf(url) };
}

export async function postgresServer(): Promise<PostgresServer> {
  return (await (started ??= start())).server;
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Keeps the database for the next test, emptied; one whose tables are not those of the template goes. */
async function leave(url: string): Promise<void> {
  const server = await postgresServer();
  try {
    await server.query(RESTORE_CONTENTS, databaseOf(url));
    reusable.push(url);
  } catch {
    await server.dropDatabase(url);
  }
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
    allowFsyncOff: true,
    isTimeVirtual: true,
  });
}

/** A node on a database of its own, with a ledger whose time is the test's. */
export class PostgresInDatabase implements OpenedStorage {
  readonly #url: string;
  readonly #clock: VirtualClock;
  readonly #ownsDatabase: boolean;
  readonly #open: typeof open;
  #storage: PostgresStorage;
  /** Of someone else, who removes the records. */
  #client: Client | null = null;

  private constructor(
    url: string,
    clock: VirtualClock,
    storage: PostgresStorage,
    from: PostgresInDatabase | typeof open,
  ) {
    this.#url = url;
    this.#clock = clock;
    this.#storage = storage;
    this.#ownsDatabase = typeof from === 'function';
    this.#open = typeof from === 'function' ? from : from.#open;
  }

  static async start(clock: VirtualClock, opening = open): Promise<PostgresInDatabase> {
    const { server, template } = await (started ??= start());
    const url = reusable.pop() ?? (await server.createDatabase(template));
    return new PostgresInDatabase(url, clock, await opening(url, clock), opening);
  }

  get storage(): Storage {
    return this.#storage;
  }

  async reopen(): Promise<void> {
    await this.#storage.close();
    this.#storage = await this.#open(this.#url, this.#clock);
  }

  /** A node that died has written what it has written: another one finds it. */
  async afterCrash(): Promise<OpenedStorage> {
    return new PostgresInDatabase(this.#url, this.#clock, await this.#open(this.#url, this.#clock), this);
  }

  async bytesOnDisk(): Promise<number> {
    const server = await postgresServer();
    const [row] = await server.query('SELECT pg_database_size(current_database()) AS bytes', databaseOf(this.#url));
    return Number(row?.['bytes']);
  }

  /** Nothing that the node has in memory speaks of records that other clients may remove. */
  async empty(): Promise<void> {
    if (this.#client === null) {
      this.#client = new Client({ connectionString: this.#url });
      await this.#client.connect();
    }
    await this.#client.query(REMOVE_ALL_RECORDS);
  }

  async close(): Promise<void> {
    await this.#client?.end();
    await this.#storage.close();
    if (this.#ownsDatabase) await leave(this.#url);
  }
}
