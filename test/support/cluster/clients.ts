import type { Socket } from 'bun';

import { until } from '../../../tools/cluster/wait.ts';
import type { Setup } from './clusterSetup.ts';

export interface Verdict {
  readonly valid: boolean;
  readonly code: string;
  readonly remaining?: number;
  readonly ratelimit?: { readonly limit: number; readonly remaining: number; readonly reset: number };
}

/** What became of one request that was sent. */
export type Reply =
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** An HTTP error. */
  | { readonly kind: 'error'; readonly status: number; readonly code: string }
  /** The connection ended before an answer. */
  | { readonly kind: 'lost' };

const LOST: Reply = { kind: 'lost' };
/** Longer than a node may try to learn what became of a request. */
const PATIENCE_MS = 20_000;

/**
 * A connection to a node that sends every request exactly once. `fetch` sends a request again by itself when a connection
 * that it kept turns out to be closed: what was spent could then not be compared with what was sent.
 */
export class Wire implements Disposable {
  readonly port: number;
  #socket: Socket | null = null;
  #received = '';
  #waiting: ((reply: Reply) => void) | null = null;
  #isClosed = false;

  private constructor(port: number) {
    this.port = port;
  }

  /** Rejects when nobody listens there. */
  static async open(port: number): Promise<Wire> {
    const wire = new Wire(port);
    const closed = (): void => wire.#close();
    wire.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data: (_, bytes) => wire.#receive(bytes), end: closed, close: closed, error: closed },
    });
    return wire;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** One at a time. Rejects when a node that holds the connection says nothing. */
  verify(body: Readonly<Record<string, unknown>>): Promise<Reply> {
    if (this.#isClosed) return Promise.resolve(LOST);
    const text = JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const silence = new Error(`the node at port ${this.port} left a request unanswered for ${PATIENCE_MS} ms`);
    const timer = setTimeout(() => reject(silence), PATIENCE_MS);
    this.#waiting = (reply) => {
      clearTimeout(timer);
      resolve(reply);
    };
    this.#socket?.write(
      `POST /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    return promise;
  }

  [Symbol.dispose](): void {
    this.#socket?.terminate();
    this.#close();
  }

  #receive(bytes: Buffer): void {
    this.#received += bytes.toString('latin1');
    const start = this.#received.indexOf('\r\n\r\n') + 4;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#received)?.[1];
    if (start < 4 || length === undefined || this.#received.length < start + Number(length)) return;
    const [head, body] = [this.#received.slice(0, start), this.#received.slice(start)];
    this.#received = '';
    this.#answer(toReply(Number(head.split(' ', 2)[1]), body));
  }

  #close(): void {
    this.#isClosed = true;
    this.#answer(LOST);
  }

  #answer(reply: Reply): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(reply);
  }
}

function toReply(status: number, body: string): Reply {
  const parsed = JSON.parse(body) as Verdict & { error?: { code: string } };
  if (status === 200) return { kind: 'verdict', verdict: parsed };
  return { kind: 'error', status, code: parsed.error?.code ?? 'none' };
}

/** A client with one request under way; it keeps to its node, and goes to another one while that is not there. */
export class Client implements Disposable {
  readonly #setup: Setup;
  readonly #nodeIndex: number;
  #wire: Wire | null = null;

  constructor(setup: Setup, nodeIndex: number) {
    this.#setup = setup;
    this.#nodeIndex = nodeIndex % setup.nodes.length;
  }

  /** Sends it once, to the first node that takes the connection. */
  async verify(body: Readonly<Record<string, unknown>>): Promise<Reply> {
    const preferred = this.#setup.node(this.#nodeIndex).port;
    if (this.#wire === null || this.#wire.isClosed) this.#wire = await this.#connect();
    const reply = await this.#wire.verify(body);
    // Away from home it looks each time whether its node is back.
    if (this.#wire.port !== preferred) this[Symbol.dispose]();
    return reply;
  }

  [Symbol.dispose](): void {
    this.#wire?.[Symbol.dispose]();
    this.#wire = null;
  }

  async #connect(): Promise<Wire> {
    const { nodes } = this.#setup;
    for (let i = 0; i < nodes.length; i++) {
      try {
        return await Wire.open(this.#setup.node((this.#nodeIndex + i) % nodes.length).port);
      } catch {
        // The next one.
      }
    }
    throw new Error('no node takes connections');
  }
}

/** Clients in equal parts at all nodes, each asking again as soon as `onReply` is done, until `next` says null. */
export async function hammer(
  setup: Setup,
  clients: number,
  next: (client: number) => Readonly<Record<string, unknown>> | null,
  onReply: (reply: Reply, client: number) => Promise<void>,
): Promise<void> {
  const run = async (number: number): Promise<void> => {
    using client = new Client(setup, number);
    for (let body = next(number); body !== null; body = next(number)) await onReply(await client.verify(body), number);
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => run(number)));
}

/** Asks a node until it calls the key valid: from then on it has the key in memory. */
export async function untilValid(wire: Wire, key: string): Promise<void> {
  await until('the key is valid', async () => {
    const reply = await wire.verify({ key });
    return reply.kind === 'verdict' && reply.verdict.valid;
  });
}
