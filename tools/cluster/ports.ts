const FIRST = 20_000;
const LAST = 32_000;

/**
 * A port that nobody listens on, below those that the system hands out. From among them the port of a server that is down
 * for a while could be given to a connection, even to one that tries to reach that very server.
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
