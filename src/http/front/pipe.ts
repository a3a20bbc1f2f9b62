import { Outlet } from './outlet.ts';
import type { Room } from './room.ts';

/** Where the server behind listens. */
export const LOOPBACK = '127.0.0.1';

/** Descriptors of a pipe: its socket to the server behind, and the server's own end of it. */
const FILES_OF_A_PIPE = 2;

/** The client's end of a connection that is handed over. */
export interface ClientEnd {
  /** Null: it has gone before it could be seen. */
  readonly address: string | null;
  write(bytes: string | Uint8Array): number;
  pause(): void;
  resume(): void;
  /** From now on it has to take something within the time limit of connections, or has all the time again. */
  hurry(isOn: boolean): void;
  /** What was written still arrives. */
  end(): void;
  terminate(): void;
}

/** The server of the runtime, and the addresses of those whose connections were handed over to it. */
export class ServerBehind {
  readonly #port: number;
  readonly #room: Room;
  /** By the port that a connection to it comes from. */
  readonly #clients = new Map<number, string | null>();

  constructor(port: number, room: Room) {
    this.#port = port;
    this.#room = room;
  }

  /** The address of the client whose connection comes from this port; undefined: of none that was handed over. */
  clientOf({ port }: { readonly port: number }): string | null | undefined {
    return this.#clients.get(port);
  }

  /** From now on everything that the client sends goes to the server, beginning with `first`, and back. */
  join(client: ClientEnd, first: Uint8Array): Pipe {
    return new Pipe(client, first, { hostname: LOOPBACK, port: this.#port, room: this.#room }, this.#clients);
  }
}

/** Two sockets, each of which gets what the other one sends, no faster than it takes it. */
export class Pipe {
  readonly #client: ClientEnd;
  readonly #toClient: Outlet;
  readonly #clients: Map<number, string | null>;
  #server: Bun.Socket<Pipe> | null = null;
  #toServer: Outlet | null = null;
  /** That the connection to the server comes from. */
  #port = 0;
  #isClosed = false;
  readonly #room: Room;
  #files = 0;

  constructor(
    client: ClientEnd,
    first: Uint8Array,
    { room, ...where }: { hostname: string; port: number; room: Room },
    clients: Map<number, string | null>,
  ) {
    this.#client = client;
    this.#toClient = new Outlet(client);
    this.#clients = clients;
    this.#room = room;
    if (!room.takeMore(FILES_OF_A_PIPE)) {
      this.#isClosed = true;
      client.terminate();
      return;
    }
    this.#files = FILES_OF_A_PIPE;
    // Until the other end is there nothing more is taken.
    client.pause();
    Bun.connect<Pipe>({ ...where, data: this, socket: SERVER_EVENTS }).then(
      (server) => this.#opened(server, first),
      () => {
        this.#giveBack();
        client.terminate();
      },
    );
  }

  /** What the client has sent is on its way to the server. */
  get isOpening(): boolean {
    return this.#server === null && !this.#isClosed;
  }

  #opened(server: Bun.Socket<Pipe>, first: Uint8Array): void {
    if (this.#isClosed) return server.terminate();
    this.#server = server;
    this.#toServer = new Outlet(server);
    this.#port = server.localPort;
    this.#clients.set(this.#port, this.#client.address);
    this.fromClient(first);
    if (!this.#toServer.isBlocked) this.#client.resume();
  }

  fromClient(bytes: Uint8Array): void {
    this.#toServer?.write(bytes, bytes.length);
    if (this.#toServer?.isBlocked === true) this.#client.pause();
  }

  fromServer(bytes: Uint8Array): void {
    this.#toClient.write(bytes, bytes.length);
    if (!this.#toClient.isBlocked) return;
    this.#server?.pause();
    this.#client.hurry(true);
  }

  clientTakesMore(): void {
    if (!this.#toClient.isBlocked) return;
    this.#toClient.drain();
    this.#client.hurry(this.#toClient.isBlocked);
    if (this.#toClient.isBlocked) return;
    if (this.#isClosed) this.#client.end();
    else this.#server?.resume();
  }

  serverTakesMore(): void {
    if (this.#toServer?.isBlocked !== true) return;
    this.#toServer.drain();
    if (!this.#toServer.isBlocked) this.#client.resume();
  }

  clientClosed(): void {
    this.#isClosed = true;
    this.#server?.terminate();
  }

  #giveBack(): void {
    this.#room.giveBack(this.#files);
    this.#files = 0;
  }

  serverClosed(): void {
    this.#giveBack();
    this.#clients.delete(this.#port);
    this.#isClosed = true;
    if (!this.#toClient.isBlocked) this.#client.end();
  }
}

const SERVER_EVENTS: Bun.SocketHandler<Pipe> = {
  data: (socket, bytes) => socket.data.fromServer(bytes),
  drain: (socket) => socket.data.serverTakesMore(),
  close: (socket) => socket.data.serverClosed(),
  // What has gone wrong is followed by a close.
  error: () => {},
};
