import type { Connection } from './front.ts';
import { CONNECTION_TIMEOUT_SECONDS } from './responder.ts';
import type { Welcome } from './frontLimits.ts';

/**
 * Of TLS 1.2, those with forward secrecy: whoever gets the private key later cannot read what was recorded before. Those of TLS 1.3 all have
 * it, and are not chosen here. A connection offers what its certificate
 * was loaded with.
 */
export const CIPHERS = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']
  .flatMap((each) => [`ECDHE-ECDSA-${each}`, `ECDHE-RSA-${each}`])
  .join(':');

/** The certificate of the service, with its private key. */
export interface ServerCertificate {
  /** In PEM form, with the certificates of its authorities behind it. */
  readonly cert: string;
  readonly key: string;
  /** The same as the runtime keeps it. */
  readonly context: object;
  /** When it expires. */
  readonly expiresAtMs: number;
}

/** Where a front finds the certificate for the next connection. */
export interface Certificates {
  readonly inUse: ServerCertificate;
}

type Socket = Bun.Socket<Connection>;
export type Handlers = Required<
  Pick<Bun.SocketHandler<Connection>, 'open' | 'data' | 'end' | 'drain' | 'timeout' | 'close' | 'error'>
>;

interface SecureContext {
  /** The handlers of a connection after its handshake. */
  readonly plain: Handlers;
  readonly certificates: Certificates;
  /** Makes the connection of a socket, and says whether it is served. */
  readonly take: (socket: Socket) => Welcome;
  readonly refuse: (connection: Connection, welcome: 'refuse' | 'refuseAddress') => void;
}

/**
 * The handlers of connections over TLS: a handshake, then the plain ones. A client has CONNECTION_TIMEOUT_SECONDS for the whole handshake,
 * as for the head of a request. A connection that is refused is told so after the handshake: before it, the client can read nothing.
 */
export function secureHandlers({ plain, certificates, take, refuse }: SecureContext): Bun.SocketHandler<Connection> {
  const shaking = new Map<Connection, Exclude<Welcome, 'drop'>>();
  return {
    ...plain,
    open(socket) {
      const welcome = take(socket);
      if (welcome === 'drop') return socket.terminate();
      useCertificate(socket, certificates.inUse);
      shaking.set(socket.data, welcome);
    },
    handshake(socket, isDone) {
      const welcome = shaking.get(socket.data);
      shaking.delete(socket.data);
      if (!isDone || welcome === undefined) return socket.terminate();
      socket.timeout(CONNECTION_TIMEOUT_SECONDS);
      if (welcome !== 'serve') refuse(socket.data, welcome);
    },
    timeout(socket) {
      if (shaking.has(socket.data)) socket.terminate();
      else void plain.timeout(socket);
    },
    close(socket, error) {
      shaking.delete(socket.data);
      void plain.close(socket, error);
    },
  };
}

/** The runtime has `setKeyCert`, as Node's TLSSocket does, without a type for it. */
function useCertificate(socket: Socket, { context }: ServerCertificate): void {
  (socket as unknown as { setKeyCert(context: object): void }).setKeyCert(context);
}
