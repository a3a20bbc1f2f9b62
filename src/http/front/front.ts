import { AppError } from '../../core/errors.ts';
import { Connection, type FrontContext } from './connection.ts';
import type { ConnectionLimit } from './connectionLimit.ts';

const TOO_MANY = new AppError('UNAVAILABLE', 'This node has reached its limit of connections. Try again later.');

/** Takes the connections of clients. */
export class Front {
  readonly #connections = new Set<Connection>();
  readonly #listener: Bun.TCPSocketListener<Connection>;

  constructor(hostname: string, port: number, limit: ConnectionLimit, context: FrontContext) {
    const connections = this.#connections;
    this.#listener = Bun.listen<Connection>({
      hostname,
      port,
      // A client may end its side of the connection and still wait for the answer.
      allowHalfOpen: true,
      socket: {
        open(socket) {
          // Send an answer at once, even while the client has not confirmed the one before (no Nagle).
          socket.setNoDelay(true);
          socket.data = new Connection(context, socket);
          connections.add(socket.data);
          const welcome = limit.enter(descriptorOf(socket));
          if (welcome === 'drop') socket.terminate();
          else if (welcome === 'refuse') socket.data.refuse(TOO_MANY);
        },
        data: (socket, bytes) => socket.data.receive(bytes),
        end: (socket) => socket.data.ended(),
        drain: (socket) => socket.data.drain(),
        timeout: (socket) => socket.data.timedOut(),
        close(socket) {
          connections.delete(socket.data);
          limit.leave();
          socket.data.closed();
        },
        // The runtime calls `close` after it.
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

  /** Requests that are being answered, or whose body is still arriving. */
  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections) if (connection.isInFlight) count++;
    return count;
  }

  /** Takes no new connections. */
  stopListening(): void {
    this.#listener.stop();
  }

  /** What was answered still arrives. */
  closeAll(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** The runtime has `fd` without a type for it. Where it is missing, the descriptor refuses no connection. */
function descriptorOf(socket: object): number {
  return (socket as { readonly fd?: number }).fd ?? -1;
}
