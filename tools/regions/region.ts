import type { KeystileNode } from '../cluster/node.ts';

export interface Verdict {
  /** `failed`: an error instead of a verdict, such as 503 when the database did not answer in time. */
  readonly outcome: 'valid' | 'refused' | 'failed';
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** State of the key's default limit. Null: the key has none. */
  readonly limit: { readonly remaining: number; readonly reset: number } | null;
}

interface VerdictBody {
  readonly valid?: boolean;
  readonly ratelimit?: { readonly remaining: number; readonly reset: number };
  readonly error?: { readonly message: string };
}

const HEADERS = { 'content-type': 'application/json' };

/** One node, as seen by clients close to it. Clients reach it without delay, so only the time of the node is measured. */
export class Region {
  readonly name: string;
  /** The delay that is added to a round trip to the database. */
  readonly delayMs: number;
  /** The number of verifications that failed with an error, and the last error. */
  failures = 0;
  lastFailure = '';
  readonly #node: KeystileNode;

  constructor(node: KeystileNode, delayMs: number) {
    this.name = node.location;
    this.delayMs = delayMs;
    this.#node = node;
  }

  /** The warnings and errors in the log of the node. */
  get logLines(): string[] {
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

  /** Returns what is left of the limit, without using any of it. */
  peek(key: string): Promise<Verdict> {
    return this.verify(key, { ratelimit: { cost: 0 } });
  }

  /** Milliseconds of a request for which the node does no work. */
  async live(): Promise<number> {
    const sentAtMs = performance.now();
    const response = await fetch(`${this.#node.url}/v1/liveness`);
    await response.json();
    return performance.now() - sentAtMs;
  }

  /** A management call that must succeed. */
  async manage<Body>(route: string, body: unknown): Promise<Body> {
    const answer = await this.#node.call(route, body);
    if (answer.status === 200) return answer.body as Body;
    throw new Error(`${route} in ${this.name} answered ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
