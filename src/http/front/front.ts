import { Connection, type FrontParts } from './connection.ts';

/** Takes the connections of clients. */
export class Front {
  readonly #connections = new Set<Connection>();
  readonly #listener: Bun.TCPSocketListener<Connection>;

  constructor(hostname: string, port: number, parts: FrontParts) {
    const connections = this.#connections;
    this.#listener = Bun.listen<Connection>({
      hostname,
      port,
      socket: {
        open(socket) {
          // An answer is not kept back until the one before was confirmed.
          socket.setNoDelay(true);
          socket.data = new Connection(parts, socket);
          connections.add(socket.data);
        },
        data: (socket, bytes) => socket.data.receive(bytes),
        drain: (socket) => socket.data.drain(),
        timeout: (socket) => socket.data.timedOut(),
        close(socket) {
          connections.delete(socket.data);
          socket.data.closed();
        },
        // What has gone wrong is followed by a close.
        error: (socket) => socket.terminate(),
      },
    });
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Requests that are being answered, or whose body is on the way. */
  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections) if (connection.isInFlight) count++;
    return count;
  }

  /** No new connections. */
  stopListening(): void {
    this.#listener.stop();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.terminate();
  }
}
