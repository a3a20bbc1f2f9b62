import { AppError } from '../../core/errors.ts';
import { Connection, type FrontContext } from './connection.ts';
import type { ConnectionLimit, Welcome } from './frontLimits.ts';
import { type Certificates, type Handlers, secureHandlers } from './secureHandlers.ts';

const TOO_MANY = new AppError('UNAVAILABLE', 'This node has reached its limit of connections. Try again later.');

const TOO_MANY_OF_ADDRESS = new AppError(
  'UNAVAILABLE',
  'Your address has reached its limit of connections (KEYSTILE_MAX_CONNECTIONS_PER_ADDRESS). Use fewer at a time.',
);

function refuse(connection: Connection, welcome: 'refuse' | 'refuseAddress'): void {
  connection.refuse(welcome === 'refuse' ? TOO_MANY : TOO_MANY_OF_ADDRESS);
}

/** Where a front listens, and how. */
interface FrontAddress {
  readonly hostname: string;
  readonly port: number;
  /** Null: plain HTTP. */
  readonly certificates: Certificates | null;
  /** The oldest version of TLS that a client may speak. */
  readonly minTlsVersion: keyof typeof TLS_VERSIONS;
}

/** As the protocol numbers them. */
const TLS_VERSIONS = { '1.2': 0x0303, '1.3': 0x0304 } as const;

/** Takes the connections of clients. */
export class Front {
  /** Each with the name under which the connections of its address are counted. */
  readonly #connections = new Map<Connection, string | null>();
  readonly #context: FrontContext;
  readonly #listener: Bun.TCPSocketListener<Connection>;

  constructor(
    { hostname, port, certificates, minTlsVersion }: FrontAddress,
    limit: ConnectionLimit,
    context: FrontContext,
  ) {
    const connections = this.#connections;
    this.#context = context;
    const take = (socket: Bun.Socket<Connection>): Welcome => {
      // Send an answer at once, even while the client has not confirmed the one before (no Nagle).
      socket.setNoDelay(true);
      // `remoteAddress` is undefined once the socket has closed.
      const address = socket.remoteAddress as string | undefined;
      const name = address === undefined ? null : limit.nameOf(address);
      const welcome = limit.enter(descriptorOf(socket), name);
      socket.data = new Connection(context, socket, limit.memoryOf(name, context.memory));
      connections.set(socket.data, name);
      return welcome;
    };
    const plain: Handlers = {
      open(socket) {
        const welcome = take(socket);
        if (welcome === 'drop') socket.terminate();
        else if (welcome !== 'serve') refuse(socket.data, welcome);
      },
      data: (socket, bytes) => socket.data.receive(bytes),
      end: (socket) => socket.data.ended(),
      drain: (socket) => socket.data.drain(),
      timeout: (socket) => socket.data.timedOut(),
      close(socket) {
        limit.leave(connections.get(socket.data) ?? null);
        connections.delete(socket.data);
        socket.data.closed();
      },
      // The runtime calls `close` after it.
      error: (socket) => socket.terminate(),
    };
    // A client may end its side of the connection and still wait for the answer.
    const options = { hostname, port, allowHalfOpen: true };
    this.#listener =
      certificates === null
        ? Bun.listen<Connection>({ ...options, socket: plain })
        : Bun.listen<Connection>({
            ...options,
            tls: tlsOf(certificates, minTlsVersion),
            socket: secureHandlers({ plain, certificates, take, refuse }),
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
    for (const connection of this.#connections.keys()) if (connection.isInFlight) count++;
    return count;
  }

  /** Of the listener. */
  get descriptor(): number {
    return descriptorOf(this.#listener);
  }

  /** Takes no new connections. From now on every answer is the last one of its connection. */
  stopListening(): void {
    this.#context.lifetime.isStopping = true;
    this.#listener.stop();
  }

  /** What was answered still arrives. */
  closeAll(): void {
    for (const connection of this.#connections.keys()) connection.close();
  }
}

/** The runtime has `minVersion` without a type for it. */
function tlsOf({ inUse: { cert, key } }: Certificates, minTlsVersion: keyof typeof TLS_VERSIONS): Bun.TLSOptions {
  const options: Bun.TLSOptions & { readonly minVersion: number } = {
    cert,
    key,
    minVersion: TLS_VERSIONS[minTlsVersion],
  };
  return options;
}

/** The runtime has `fd` without a type for it. Where it is missing, the descriptor refuses no connection. */
function descriptorOf(socket: object): number {
  return (socket as { readonly fd?: number }).fd ?? -1;
}
