/** A request as the service behind a gateway got it. */
export interface Reached {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
}

/** The service behind a gateway. It answers every request, and keeps what reached it. */
export class App implements AsyncDisposable {
  readonly #server: Bun.Server<undefined>;
  #reached: Reached[] = [];

  constructor() {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = await request.text();
        this.#reached.push({ method: request.method, target: pathname + search, headers: request.headers, body });
        return new Response('from the service');
      },
    });
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  /** What has reached it since the last call. */
  take(): Reached[] {
    return this.#reached.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
