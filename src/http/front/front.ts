import { AppError } from '../../core/errors.ts';
import { Connection, type FrontParts } from './connection.ts';
import type { Room } from './connectionLimit.ts';

const TOO_MANY = new AppError('UNAVAILABLE', 'This node has as many connections as it may.');

/** Takes the connections of clients. */
export class Front {
  readonly #connections = new Set<Connection>();
  readonly #listener: Bun.TCPSocketListener<Connection>;

  constructor(hostname: string, port: number, room: Room, parts: FrontParts) {
    const connections = this.#connections;
    this.#listener = Bun.listen<Connection>({
      hostname,
      port,
      // A client may end its side of the connection and still wait for the answer.
      allowHalfOpen: true,
      socket: {
        open(socket) {
          // An answer is not kept back until the one before was confirmed.
          socket.setNoDelay(true);
          socket.data = new Connection(parts, socket);
          connections.add(socket.data);
          const welcome = room.enter(descriptorOf(socket));
          if (welcome === 'drop') socket.terminate();
          else if (welcome === 'refuse') socket.data.refuse(TOO_MANY);
        },
        data: (socket, bytes) => socket.data.receive(bytes),
        end: (socket) => socket.data.ended(),
        drain: (socket) => socket.data.drain(),
        timeout: (socket) => socket.data.timedOut(),
        close(socket) {
          connections.delete(socket.data);
          room.leave();
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

  get connections(): number {
    return this.#connections.size;
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

  /** What was answered still arrives. */
  closeAll(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** The runtime tells it without a type for it. Where it does not, no connection is taken for one too many because of it. */
function descriptorOf(socket: object): number {
  return (socket as { readonly fd?: number }).fd ?? -1;
}
