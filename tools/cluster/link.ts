import { Flow, type Line, type Side } from './flow.ts';

export interface LinkOptions {
  readonly line: Line;
  readonly target: { readonly host: string; readonly port: number };
  /** Asked before a chunk goes to the server; after a no the link has been reset. */
  admit(link: Link, bytes: Buffer): boolean;
  /** Asked before a chunk of the server is taken; after a no the link has been reset. */
  admitAnswer(link: Link): boolean;
  /** What a chunk of the server becomes on its way. */
  alterAnswer(bytes: Buffer): Buffer;
  closed(link: Link): void;
}

/** A connection of a client, and the one to the server that is made for it. */
export class Link {
  readonly toServer: Flow;
  readonly toClient: Flow;
  readonly #options: LinkOptions;
  #client: Side | null;
  #server: Side | null = null;
  #isConnecting = false;
  #isReset = false;

  constructor(client: Side, options: LinkOptions) {
    this.#options = options;
    this.#client = client;
    const [atClient, atServer] = [() => this.#client, () => this.#server];
    this.toServer = new Flow(options.line, atClient, atServer, (bytes) => options.admit(this, bytes));
    this.toClient = new Flow(options.line, atServer, atClient);
  }

  /** Begins, or goes on after the line has hung: a client that came meanwhile has no server yet. */
  run(): void {
    if (this.#options.line.isHanging) return;
    if (this.#server === null && !this.#isConnecting) void this.#connect();
    this.toServer.run();
    this.toClient.run();
  }

  /** Both sides see the connection break. */
  reset(): void {
    this.#isReset = true;
    this.toServer.drop();
    this.toClient.drop();
    this.#client?.terminate();
    this.#server?.terminate();
  }

  clientClosed(): void {
    this.#client = null;
    this.#sideClosed(this.toServer);
  }

  async #connect(): Promise<void> {
    this.#isConnecting = true;
    const { host, port } = this.#options.target;
    try {
      await Bun.connect({
        hostname: host,
        port,
        allowHalfOpen: true,
        socket: {
          open: (socket) => this.#connected(socket),
          data: (_socket, bytes) => {
            if (this.#options.admitAnswer(this)) this.toClient.push(this.#options.alterAnswer(bytes));
          },
          drain: () => this.toServer.run(),
          end: () => this.toClient.push('ended'),
          close: () => this.#serverClosed(),
        },
      });
    } catch {
      // Nobody listens there: the client learns it as it would of a server that dies.
      this.reset();
    }
  }

  #connected(socket: Side): void {
    this.#server = socket;
    if (this.#isReset) socket.terminate();
    else this.toServer.run();
  }

  #serverClosed(): void {
    this.#server = null;
    this.#sideClosed(this.toClient);
  }

  /** Unless both sides had said goodbye before, the other one learns of it when the line lets it through. */
  #sideClosed(from: Flow): void {
    if (!this.#isReset && !(this.toServer.hasEnded && this.toClient.hasEnded)) from.push('broke off');
    if (this.#client === null && this.#server === null) this.#options.closed(this);
  }
}
