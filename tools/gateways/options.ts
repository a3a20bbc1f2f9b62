import { parseArgs } from 'node:util';

const GATEWAYS = ['nginx', 'haproxy', 'caddy', 'pgbouncer'] as const;

export const USAGE = `npm run test:gateways -- [--gateway ${GATEWAYS.join('|')}]
  Starts the service behind a real nginx and a real HAProxy (Debian's packages) and tests what works through them. Then lets nginx, HAProxy
  and Caddy ask the service before they forward a request (forward authentication). Then runs two nodes on one PostgreSQL: rolling restarts and
  an outage behind the gateways, and PgBouncer between nodes and database.
  --gateway G   only this program; default: all
  --help        show this help`;

export interface Options {
  readonly isHelp: boolean;
  readonly gateways: readonly string[];
}

/** A wrong argument. The message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { help, gateway } = parse(args);
  return { isHelp: help, gateways: gateway === undefined ? GATEWAYS : [known(gateway)] };
}

function known(gateway: string): string {
  if ((GATEWAYS as readonly string[]).includes(gateway)) return gateway;
  throw new UsageError(`--gateway must be one of ${GATEWAYS.join(', ')}, got "${gateway}".`);
}

function parse(args: readonly string[]): { help: boolean; gateway?: string | undefined } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        gateway: { type: 'string' },
      },
    }).values;
  } catch (error) {
    const [first = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    throw new UsageError(`${first.replace(/\.$/, '')}. See --help.`);
  }
}
