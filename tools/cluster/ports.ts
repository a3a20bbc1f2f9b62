const FIRST = 20_000;
const LAST = 32_000;

/**
 * A free port below the range that the system assigns to outgoing connections. From that range, the system could assign the
 * port of a server that is down for a moment, even to a client that tries to connect to that server.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
