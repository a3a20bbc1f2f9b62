import { KeystileNode } from '../../cluster/node.ts';
import { freePort } from '../../cluster/ports.ts';
import { PostgresServer } from '../../cluster/postgres.ts';

const COUNT = 2;

export interface PairOptions {
  /** One that outlives the nodes; otherwise they have one of their own. */
  readonly postgres?: PostgresServer;
  /** Where nodes find the database, by the URL of the server: through a pooler, for example. */
  readonly through?: (url: string) => string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Two nodes on one PostgreSQL, each at a port of its own that stays when it is started again. They trust the gateways on this machine. */
export class NodePair implements AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly ports: readonly number[];
  readonly #options: PairOptions;
  readonly #nodes: (KeystileNode | null)[] = Array.from({ length: COUNT }, () => null);

  private constructor(postgres: PostgresServer, options: PairOptions) {
    this.postgres = postgres;
    this.#options = options;
    this.ports = Array.from({ length: COUNT }, freePort);
  }

  static async start(options: PairOptions = {}): Promise<NodePair> {
    const pair = new NodePair(options.postgres ?? (await PostgresServer.start()), options);
    try {
      for (let i = 0; i < COUNT; i++) await pair.startNode(i);
      return pair;
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  node(index: number): KeystileNode {
    const node = this.#nodes[index];
    if (!node) throw new Error(`node ${index} does not run`);
    return node;
  }

  async startNode(index: number): Promise<void> {
    const { through = (url) => url, settings = {} } = this.#options;
    this.#nodes[index] = await KeystileNode.start({
      databaseUrl: through(this.postgres.url()),
      location: `node ${index}`,
      settings: {
        KEYSTILE_PORT: String(this.ports[index]),
        KEYSTILE_TRUSTED_PROXIES: '127.0.0.1',
        KEYSTILE_PUBLIC_URL: 'http://keys.example.com',
        ...settings,
      },
    });
  }

  /** As a rollout does it: SIGTERM, and the same node again. Answers the exit code. */
  async restartNode(index: number): Promise<number> {
    const code = await this.node(index).stop();
    await this.startNode(index);
    return code;
  }

  async createKey(fields: Readonly<Record<string, unknown>>): Promise<{ key: string; keyId: string }> {
    const { apiId } = await this.#ok('/v1/apis.createApi', { name: 'pair' });
    return (await this.#ok('/v1/keys.createKey', { apiId, ...fields })) as { key: string; keyId: string };
  }

  async remaining(keyId: string): Promise<number> {
    return Number((await this.#ok('/v1/keys.getKey', { keyId }))['remaining']);
  }

  async #ok(route: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await this.node(0).call(route, body);
    if (answer.status !== 200) throw new Error(`${route} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, unknown>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node?.[Symbol.asyncDispose]();
    if (this.#options.postgres === undefined) await this.postgres[Symbol.asyncDispose]();
  }
}
