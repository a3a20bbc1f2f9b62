import { KeystileNode } from '../../../tools/cluster/node.ts';
import { type Reply, Wire } from './clients.ts';

/** A client that was told to try again does so after this. */
const PATIENCE_MS = 20;

/** A key with credits, and what the clients saw of it. */
export interface SpentKey {
  readonly key: string;
  readonly keyId: string;
  /** What was left after each spend that was answered valid. */
  readonly left: number[];
  /** Sent, and spent or not. */
  unknown: number;
  /** Sent, and not spent. */
  unavailable: number;
}

export async function createSpentKeys(node: KeystileNode, count: number, remaining: number): Promise<SpentKey[]> {
  const { apiId } = (await node.call('/v1/apis.createApi', { name: 'load' })).body as { apiId: string };
  const made: SpentKey[] = [];
  for (let i = 0; i < count; i++) {
    const { key, keyId } = (await node.call('/v1/keys.createKey', { apiId, remaining })).body as SpentKey;
    made.push({ key, keyId, left: [], unknown: 0, unavailable: 0 });
  }
  return made;
}

/** Clients at every node that spend from all keys, each request sent once, until they are stopped. */
export class Load {
  /** Answers that are none of: valid, not done, not known. After such a one its client has stopped. */
  readonly others: Reply[] = [];
  readonly #nodes: readonly KeystileNode[];
  readonly #keys: readonly SpentKey[];
  readonly #running: Promise<unknown>;
  /** When each node last called a key valid. */
  readonly #validAt: number[];
  #isStopped = false;

  constructor(nodes: readonly KeystileNode[], clientsPerNode: number, keys: readonly SpentKey[]) {
    this.#nodes = nodes;
    this.#keys = keys;
    this.#validAt = nodes.map(() => -Infinity);
    const clients = nodes.flatMap((_, node) => Array.from({ length: clientsPerNode }, (__, i) => this.#run(node, i)));
    this.#running = Promise.all(clients);
  }

  get valid(): number {
    return this.#keys.reduce((sum, { left }) => sum + left.length, 0);
  }

  /** Every node has called a key valid since that moment. */
  isServedSince(at: number): boolean {
    return this.#validAt.every((validAt) => validAt > at);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(node: number, client: number): Promise<void> {
    using wire = await Wire.open((this.#nodes[node] as KeystileNode).port);
    for (let turn = client; !this.#isStopped; turn++) {
      const spent = this.#keys[turn % this.#keys.length] as SpentKey;
      const reply = await wire.verify({ key: spent.key });
      if (reply.kind === 'verdict' && reply.verdict.valid) {
        spent.left.push(reply.verdict.remaining ?? NaN);
        this.#validAt[node] = performance.now();
      } else if (reply.kind === 'error' && reply.status === 503 && reply.code === 'OUTCOME_UNKNOWN') spent.unknown++;
      else if (reply.kind === 'error' && reply.status === 503 && reply.code === 'UNAVAILABLE') {
        spent.unavailable++;
        await Bun.sleep(PATIENCE_MS);
      } else {
        this.others.push(reply);
        return;
      }
    }
  }
}
