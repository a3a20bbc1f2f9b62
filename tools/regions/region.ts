import type { KeystileNode } from '../cluster/node.ts';

export interface Verdict {
  /** `failed`: no verdict but an error, as 503 when the database could not be asked in time. */
  readonly outcome: 'valid' | 'refused' | 'failed';
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** Of the key's default limit; null where it has none. */
  readonly limit: { readonly remaining: number; readonly reset: number } | null;
}

interface VerdictBody {
  readonly valid?: boolean;
  readonly ratelimit?: { readonly remaining: number; readonly reset: number };
  readonly error?: { readonly message: string };
}

const HEADERS = { 'content-type': 'application/json' };

/** One node, as the clients near it see it. Their own way to it takes no time: what is measured is what the node adds. */
export class Region {
  readonly name: string;
  /** What a round trip to the database takes longer. */
  readonly delayMs: number;
  /** Verifications that were answered with an error, and what it said the last time. */
  failures = 0;
  lastFailure = '';
  readonly #node: KeystileNode;

  constructor(node: KeystileNode, delayMs: number) {
    this.name = node.location;
    this.delayMs = delayMs;
    this.#node = node;
  }

  /** What the node wrote to its log: warnings and errors. */
  get complaints(): string[] {
    return this.#node.child.stderr.split('\n').filter((line) => line !== '');
  }

  async verify(key: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Verdict> {
    const body = JSON.stringify({ key, ...fields });
    const sentAtMs = performance.now();
    const response = await fetch(`${this.#node.url}/v1/keys.verifyKey`, { method: 'POST', headers: HEADERS, body });
    const { valid, ratelimit = null, error } = (await response.json()) as VerdictBody;
    const answeredAtMs = performance.now();
    if (response.status === 200) {
      return { outcome: valid === true ? 'valid' : 'refused', sentAtMs, answeredAtMs, limit: ratelimit };
    }
    this.failures++;
    this.lastFailure = `${response.status} ${error?.message}`;
    return { outcome: 'failed', sentAtMs, answeredAtMs, limit: null };
  }

  /** Takes nothing and tells what is left. */
  peek(key: string): Promise<Verdict> {
    return this.verify(key, { ratelimit: { cost: 0 } });
  }

  /** The milliseconds that a request takes for which the node does no work at all. */
  async live(): Promise<number> {
    const sentAtMs = performance.now();
    const response = await fetch(`${this.#node.url}/v1/liveness`);
    await response.json();
    return performance.now() - sentAtMs;
  }

  /** A call of an owner of keys, which must succeed. */
  async manage<Body>(route: string, body: unknown): Promise<Body> {
    const answer = await this.#node.call(route, body);
    if (answer.status === 200) return answer.body as Body;
    throw new Error(`${route} in ${this.name} answered ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
