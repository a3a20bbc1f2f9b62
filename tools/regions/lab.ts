import { KeystileNode } from '../cluster/node.ts';
import { PostgresServer } from '../cluster/postgres.ts';
import { TcpProxy } from '../cluster/proxy.ts';
import { LOCATIONS } from './options.ts';
import { Region } from './region.ts';

export interface Key {
  readonly keyId: string;
  readonly key: string;
}

/** The limit of a key: so many per `duration` milliseconds. */
export interface Limit {
  readonly async: boolean;
  readonly limit: number;
  readonly duration: number;
}

/** After this time every region knows of new keys. */
const PROPAGATION_MS = 400;
/** A window that does not end during a measurement. */
export const LONG_WINDOW_MS = 365 * 24 * 60 * 60 * 1000;

/** PostgreSQL and three nodes that share it. Each node is a region, with a link as slow as a distant one. */
export class Lab {
  readonly regions: readonly [Region, ...Region[]];
  readonly #apiId: string;

  private constructor(regions: readonly [Region, ...Region[]], apiId: string) {
    this.regions = regions;
    this.#apiId = apiId;
  }

  /** Adds each process to `started` at once, so that it can be stopped while others are still starting. */
  static async start(delaysMs: readonly number[], started: AsyncDisposableStack): Promise<Lab> {
    const postgres = await keep(started, PostgresServer.start({ durable: true }));
    const database = await postgres.createDatabase();
    const startRegion = async (number: number): Promise<Region> => {
      const delayMs = delaysMs[number] ?? 0;
      const url = new URL(database);
      url.port = String(started.use(TcpProxy.start({ target: postgres.port, delayMs })).port);
      const location = LOCATIONS[number] ?? '';
      return new Region(await keep(started, KeystileNode.start({ databaseUrl: url.href, location })), delayMs);
    };
    // The nearest region starts first: it creates the tables, which takes many round trips.
    const first = await startRegion(0);
    const others = await Promise.all(LOCATIONS.slice(1).map((_, i) => startRegion(i + 1)));
    const { apiId } = await first.manage<{ apiId: string }>('/v1/apis.createApi', { name: 'regions' });
    return new Lab([first, ...others], apiId);
  }

  /** Creates keys and verifies them once in every region, so that the first lookup is not part of a measurement. */
  async createKeys(count: number, ratelimit: Limit | null): Promise<Key[]> {
    const fields = { apiId: this.#apiId, ...(ratelimit !== null && { ratelimit }) };
    const create = (): Promise<Key> => this.regions[0].manage<Key>('/v1/keys.createKey', fields);
    const keys = await Promise.all(Array.from({ length: count }, create));
    // A node drops its cached record when it learns of a new key. A verification before that would cause a second lookup.
    await Bun.sleep(PROPAGATION_MS);
    const peek = ratelimit === null ? {} : { ratelimit: { cost: 0 } };
    await Promise.all(this.regions.flatMap((region) => keys.map(({ key }) => region.verify(key, peek))));
    return keys;
  }

  async createKey(ratelimit: Limit | null): Promise<Key> {
    const [key] = await this.createKeys(1, ratelimit);
    if (key === undefined) throw new Error('No key was created.');
    return key;
  }
}

/** Stops a process at once that finishes starting after everything was stopped. */
async function keep<T extends AsyncDisposable>(started: AsyncDisposableStack, starting: Promise<T>): Promise<T> {
  const running = await starting;
  if (!started.disposed) return started.use(running);
  await running[Symbol.asyncDispose]();
  throw new Error('Stopped while it was starting.');
}
