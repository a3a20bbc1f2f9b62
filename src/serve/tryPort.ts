/** How many ports are tried. */
const NEAR = 20;

/** Listens on the port for an instant. Null: the port is free. Otherwise the code of the failure, such as EADDRINUSE. */
export function tryPort(host: string, port: number): string | null {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** The next port that is free now. 0 (any port) when none of the next 20 is free. */
export function freePortAfter(host: string, port: number): number {
  for (let candidate = port + 1; candidate <= Math.min(port + NEAR, 65535); candidate++) {
    if (tryPort(host, candidate) === null) return candidate;
  }
  return 0;
}
