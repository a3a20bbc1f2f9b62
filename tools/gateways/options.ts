import { parseArgs } from 'node:util';

const SERVERS = ['front', 'runtime'] as const;
const GATEWAYS = ['nginx', 'haproxy', 'caddy', 'pgbouncer'] as const;

export const USAGE = `npm run test:gateways -- [--server ${SERVERS.join('|')}] [--gateway ${GATEWAYS.join('|')}]
  Starts the service behind a real nginx and a real HAProxy (Debian's packages) and tests what works through them. Then lets nginx, HAProxy
  and Caddy ask the service before they forward a request (forward authentication). Then runs two nodes on one PostgreSQL: rolling restarts and
  an outage behind the gateways, and PgBouncer between nodes and database.
  --server S    the HTTP server of the service (KEYSTILE_HTTP_SERVER); default: both, one after the other
  --gateway G   only this program; default: all
  --help        show this help`;

export type ServerName = (typeof SERVERS)[number];

export interface Options {
  readonly isHelp: boolean;
  readonly servers: readonly ServerName[];
  readonly gateways: readonly string[];
}

/** A wrong argument. The message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { help, server, gateway } = parse(args);
  return {
    isHelp: help,
    servers: chosen('--server', SERVERS, server),
    gateways: chosen('--gateway', GATEWAYS, gateway),
  };
}

function chosen<T extends string>(name: string, all: readonly T[], asked: string | undefined): readonly T[] {
  if (asked === undefined) return all;
  const found = all.filter((each) => each === asked);
  if (found.length > 0) return found;
  throw new UsageError(`${name} must be one of ${all.join(', ')}, got "${asked}".`);
}

function parse(args: readonly string[]): { help: boolean; server?: string | undefined; gateway?: string | undefined } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        server: { type: 'string' },
        gateway: { type: 'string' },
      },
    }).values;
  } catch (error) {
    const [first = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    throw new UsageError(`${first.replace(/\.$/, '')}. See --help.`);
  }
}
