import { createHmac } from 'node:crypto';

export interface Received {
  readonly id: string;
  readonly path: string;
  readonly type: string;
  readonly timestamp: number;
  /** The secrets, of those that were tried, whose signature it has. */
  readonly signedBy: (secrets: readonly string[]) => string[];
  readonly headers: Headers;
  readonly body: string;
}

/** A target of webhooks on this machine. */
export class Receiver implements Disposable {
  readonly received: Received[] = [];
  /** What it answers. A promise that never ends hangs. */
  answer: (received: Received) => Response | Promise<Response> = () => new Response(null, { status: 204 });
  readonly #server = Bun.serve({ port: 0, idleTimeout: 0, fetch: (request) => this.#take(request) });

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  types(): string[] {
    return this.received.map(({ type }) => type);
  }

  async #take(request: Request): Promise<Response> {
    const { headers } = request;
    const body = await request.text();
    const [id = '', timestamp = '', signature = ''] = ['id', 'timestamp', 'signature'].map((name) =>
      headers.get(`webhook-${name}`),
    ) as string[];
    const received: Received = {
      id,
      path: new URL(request.url).pathname,
      type: (JSON.parse(body) as { type: string }).type,
      timestamp: Number(timestamp),
      signedBy: (secrets) =>
        secrets.filter((secret) => signature.split(' ').includes(sign(secret, `${id}.${timestamp}.${body}`))),
      headers,
      body,
    };
    this.received.push(received);
    return this.answer(received);
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

/** As the Standard Webhooks specification says, with another implementation than the service has. */
function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}
