import { Flow, type Line, type Side } from './flow.ts';

export interface LinkOptions {
  readonly line: Line;
  readonly target: { readonly host: string; readonly port: number };
  /** Called before a chunk goes to the server. Returns false after it has reset the link. */
  admit(link: Link, bytes: Buffer): boolean;
  /** Called before a chunk of the server is accepted. Returns false after it has reset the link. */
  admitAnswer(link: Link): boolean;
  /** Changes a chunk of the server before it goes to the client. */
  alterAnswer(bytes: Buffer): Buffer;
  closed(link: Link): void;
}

/** The connection of a client, and the connection to the server that is opened for it. */
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

  /** Starts, or continues after the line was silent. A client that connected in the meantime has no server yet. */
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
      // Nothing listens there. The client sees a reset, as with a server that dies.
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

  /** Unless both sides have ended properly, the other side sees a reset as soon as the line forwards it. */
  #sideClosed(from: Flow): void {
    if (!this.#isReset && !(this.toServer.hasEnded && this.toClient.hasEnded)) from.push('broke off');
    if (this.#client === null && this.#server === null) this.#options.closed(this);
  }
}
