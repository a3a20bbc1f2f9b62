/** Lets requests through to a server; from the one with this number on no answer comes back. */
export class Gate implements AsyncDisposable {
  readonly #server;
  #passed = 0;
  #closesAt = Infinity;
  readonly #heldUp = Promise.withResolvers<void>();

  constructor(target: string) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        const isCounted = pathname === '/v1/migrations.createKeys' && ++this.#passed > 0;
        const isHeldUp = isCounted && this.#passed >= this.#closesAt;
        const body = request.method === 'GET' ? null : await request.text();
        const answer = await fetch(target + pathname, { method: request.method, headers: request.headers, body });
        // It was done, and who asked will never know.
        if (isHeldUp) {
          this.#heldUp.resolve();
          return new Promise<Response>(() => {});
        }
        return new Response(await answer.text(), { status: answer.status });
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  closeAt(number: number): Promise<void> {
    this.#passed = 0;
    this.#closesAt = number;
    return this.#heldUp.promise;
  }

  open(): void {
    this.#closesAt = Infinity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
