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

/** After it every region has heard of what was created. */
const HEARD_MS = 400;
/** A window that does not end while something is measured. */
export const LONG_WINDOW_MS = 365 * 24 * 60 * 60 * 1000;

/** PostgreSQL and three regions of nodes that share it, each over a link as slow as if it were far away. */
export class Lab {
  readonly regions: readonly [Region, ...Region[]];
  readonly #apiId: string;

  private constructor(regions: readonly [Region, ...Region[]], apiId: string) {
    this.regions = regions;
    this.#apiId = apiId;
  }

  /** What is started is kept in `parts` at once, so that it can be stopped while the rest is still starting. */
  static async start(delaysMs: readonly number[], parts: AsyncDisposableStack): Promise<Lab> {
    const postgres = await keep(parts, PostgresServer.start({ durable: true }));
    const database = await postgres.createDatabase();
    const startRegion = async (number: number): Promise<Region> => {
      const delayMs = delaysMs[number] ?? 0;
      const url = new URL(database);
      url.port = String(parts.use(TcpProxy.start({ target: postgres.port, delayMs })).port);
      const location = LOCATIONS[number] ?? '';
      return new Region(await keep(parts, KeystileNode.start({ databaseUrl: url.href, location })), delayMs);
    };
    // The nearest first: it makes the tables, which takes many round trips.
    const first = await startRegion(0);
    const others = await Promise.all(LOCATIONS.slice(1).map((_, i) => startRegion(i + 1)));
    const { apiId } = await first.manage<{ apiId: string }>('/v1/apis.createApi', { name: 'regions' });
    return new Lab([first, ...others], apiId);
  }

  /** Keys that every region has seen: what a first sight costs is not measured here. */
  async createKeys(count: number, ratelimit: Limit | null): Promise<Key[]> {
    const fields = { apiId: this.#apiId, ...(ratelimit !== null && { ratelimit }) };
    const create = (): Promise<Key> => this.regions[0].manage<Key>('/v1/keys.createKey', fields);
    const keys = await Promise.all(Array.from({ length: count }, create));
    // A node that hears of a new key forgets what it knows of it: looked at before, it would be looked up twice.
    await Bun.sleep(HEARD_MS);
    const look = ratelimit === null ? {} : { ratelimit: { cost: 0 } };
    await Promise.all(this.regions.flatMap((region) => keys.map(({ key }) => region.verify(key, look))));
    return keys;
  }

  async createKey(ratelimit: Limit | null): Promise<Key> {
    const [key] = await this.createKeys(1, ratelimit);
    if (key === undefined) throw new Error('no key was made');
    return key;
  }
}

/** What has started only after all was stopped is stopped too. */
async function keep<Part extends AsyncDisposable>(parts: AsyncDisposableStack, starting: Promise<Part>): Promise<Part> {
  const part = await starting;
  if (!parts.disposed) return parts.use(part);
  await part[Symbol.asyncDispose]();
  throw new Error('stopped while it was starting');
}
