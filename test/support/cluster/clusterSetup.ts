import { KeystileNode, type NodeOptions } from '../../../tools/cluster/node.ts';
import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { TcpProxy } from '../../../tools/cluster/proxy.ts';

export const LOCATIONS = ['eu', 'us', 'ap'] as const;

export interface SetupOptions {
  /** KEYSTILE_... settings of all nodes. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Each node reaches the database through a network of its own. */
  readonly proxied?: boolean;
  readonly locations?: readonly string[];
}

export interface MadeKey {
  readonly key: string;
  readonly keyId: string;
}

/** One setup for all tests of this process that leave it as it was; it goes with the process. */
let shared: Promise<Setup> | null = null;

export function sharedSetup(): Promise<Setup> {
  return (shared ??= Setup.start());
}

/** One PostgreSQL and a node in each of three places, all of them real processes. */
export class Setup implements AsyncDisposable {
  readonly postgres: PostgresServer;
  /** Empty unless the setup was asked for them. */
  readonly proxies: readonly TcpProxy[];
  readonly #nodeOptions: readonly NodeOptions[];
  #nodes: readonly KeystileNode[] = [];
  #apiId = '';

  private constructor(postgres: PostgresServer, { settings = {}, proxied = false, locations }: SetupOptions) {
    const places = locations ?? LOCATIONS;
    this.postgres = postgres;
    this.proxies = proxied ? places.map(() => TcpProxy.start({ target: postgres.port })) : [];
    this.#nodeOptions = places.map((location, i) => {
      const hostPort = this.proxies[i]?.hostPort ?? postgres.hostPort;
      return { location, settings, databaseUrl: `postgres://postgres@${hostPort}/postgres` };
    });
  }

  static async start(options: SetupOptions = {}): Promise<Setup> {
    const setup = new Setup(await PostgresServer.start(), options);
    try {
      setup.#nodes = await Promise.all(setup.#nodeOptions.map((each) => KeystileNode.start(each)));
      setup.#apiId = String((await setup.ok(0, '/v1/apis.createApi', { name: 'cluster' })).apiId);
      return setup;
    } catch (error) {
      await setup[Symbol.asyncDispose]();
      throw error;
    }
  }

  get nodes(): readonly KeystileNode[] {
    return this.#nodes;
  }

  node(number: number): KeystileNode {
    const node = this.#nodes[number];
    if (node === undefined) throw new Error(`there is no node ${number}`);
    return node;
  }

  proxy(number: number): TcpProxy {
    const proxy = this.proxies[number];
    if (proxy === undefined) throw new Error(`there is no proxy ${number}`);
    return proxy;
  }

  /** A call with the root key that must succeed; answers its body. */
  async ok(node: number, route: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await this.node(node).call(route, body);
    if (answer.status !== 200) throw new Error(`${route} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, unknown>;
  }

  async createKey(fields: Readonly<Record<string, unknown>> = {}, node = 0): Promise<MadeKey> {
    const { key, keyId } = await this.ok(node, '/v1/keys.createKey', { apiId: this.#apiId, ...fields });
    return { key: String(key), keyId: String(keyId) };
  }

  /** What the ledger says is left. */
  async remaining(keyId: string, node = 0): Promise<number> {
    return Number((await this.ok(node, '/v1/keys.getKey', { keyId })).remaining);
  }

  /** Starts a node again that has ended, at the same address and in the same place. */
  async startAgain(number: number): Promise<void> {
    const options = this.#nodeOptions[number] as NodeOptions;
    const settings = { ...options.settings, KEYSTILE_PORT: String(this.node(number).port) };
    const started = await KeystileNode.start({ ...options, settings });
    this.#nodes = this.#nodes.map((node, i) => (i === number ? started : node));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]()));
    for (const proxy of this.proxies) proxy.stop();
    await this.postgres.remove();
  }
}
