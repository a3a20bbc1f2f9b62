import { readFileSync } from 'node:fs';

import { until } from '../../cluster/wait.ts';
import { allSettledOrThrow, type Case, type CaseContext, expectEqual, verdictOf } from '../case.ts';
import { Client } from '../client.ts';
import { haproxy } from '../haproxy.ts';
import { bare, verification } from '../requests.ts';

const SEQUENTIAL = 200;
/** The gateway may open a few connections for each of its workers. */
const MAX_NEW_CONNECTIONS = 4;

const CLIENTS = 3;
const PAIRS_OF_EACH = 100;

/** The number of connections to the node, including those closed in the last minute, which the system still lists. */
function connectionsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const ports = lines.flatMap((line) => {
    // Columns: address and port of both ends, in hexadecimal.
    const [, local = '', remote = ''] = line.trim().split(/\s+/);
    if (remote.endsWith(`:${hex}`)) return [local];
    return local.endsWith(`:${hex}`) && !remote.endsWith(':0000') ? [remote] : [];
  });
  return new Set(ports).size;
}

const reuse: Case = {
  name: 'connections to the node are reused',
  async run({ gateway, node }) {
    const { key } = await node.server.createKey({});
    const before = connectionsTo(node.server.port);
    using client = await Client.open(gateway.port);
    for (let i = 0; i < SEQUENTIAL; i++) {
      client.send(verification(key));
      expectEqual(`answer ${i}`, (await client.answer())?.status, 200);
    }
    const added = connectionsTo(node.server.port) - before;
    expectEqual(`at most ${MAX_NEW_CONNECTIONS} new connections (${added})`, added <= MAX_NEW_CONNECTIONS, true);
    return `${SEQUENTIAL} requests over ${added} new connections`;
  },
};

/** By default both gateways use HTTP/1.0 towards a node. */
const byDefault: Case = {
  name: 'HTTP/1.0, the default of health checks (HAProxy) and requests (nginx)',
  run: (context) => (context.kind.name === 'haproxy' ? defaultCheck(context) : defaultVersion(context)),
};

/** The default health check of HAProxy: OPTIONS / HTTP/1.0 without Host. */
async function defaultCheck({ node, newFolder }: CaseContext): Promise<string> {
  await using own = await haproxy.start({
    nodePort: node.server.port,
    folder: newFolder(),
    changes: [['option httpchk GET /v1/readiness', 'option httpchk']],
  });
  // Until the first check has ended, the status is UP and the check is INI.
  await until(
    'the node was checked',
    async () => !['', 'INI'].includes((await own.statistic('check_status')).replace('* ', '')),
  );
  const [status, check] = [await own.statistic('status'), await own.statistic('check_status')];
  expectEqual('status and check', [status, check], ['UP', 'L7OK']);
  return `${status}, ${check}`;
}

async function defaultVersion({ kind, node, newFolder }: CaseContext): Promise<string> {
  await using own = await kind.start({
    nodePort: node.server.port,
    folder: newFolder(),
    changes: [
      ['proxy_http_version 1.1;', ''],
      ['proxy_set_header Connection "";', ''],
    ],
  });
  const { key } = await node.server.createKey({ remaining: 5 });
  using client = await Client.open(own.port);
  const left: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    client.send(verification(key));
    left.push(verdictOf(await client.answer()).remaining);
  }
  expectEqual('remaining credits after each', left, [4, 3, 2, 1, 0]);
  return '5 of 5 valid';
}

const oldClients: Case = {
  name: `${CLIENTS * PAIRS_OF_EACH} requests, each directly after one of an HTTP/1.0 client`,
  async run({ gateway, node }) {
    const { key } = await node.server.createKey({});
    const statuses: (number | undefined)[] = [];
    const sendPairs = async (): Promise<void> => {
      for (let i = 0; i < PAIRS_OF_EACH; i++) {
        using other = await Client.open(gateway.port);
        using old = await Client.open(gateway.port);
        old.send(bare('GET /v1/liveness HTTP/1.0'));
        expectEqual('answer to HTTP/1.0', (await old.answer())?.status, 200);
        // The gateway still has the connection that it just used. The node must have announced that it closes it.
        other.send(verification(key));
        statuses.push((await other.answer())?.status);
      }
    };
    await allSettledOrThrow(Array.from({ length: CLIENTS }, sendPairs));
    expectEqual('answers other than 200', countOthers(statuses), {});
    return `${statuses.length} answered 200`;
  },
};

function countOthers(statuses: readonly (number | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const status of statuses.filter((each) => each !== 200)) {
    counts[String(status)] = (counts[String(status)] ?? 0) + 1;
  }
  return counts;
}

const oldWithoutHost: Case = {
  name: 'an HTTP/1.0 client without Host',
  async run({ gateway }) {
    using client = await Client.open(gateway.port);
    client.send('GET /v1/liveness HTTP/1.0\r\n\r\n');
    expectEqual('status', (await client.answer())?.status, 200);
    expectEqual('bytes after the answer', await client.rest(), '');
    using again = await Client.open(gateway.port);
    again.send(bare('GET /v1/liveness HTTP/1.0', 'Connection: keep-alive'));
    expectEqual('status with keep-alive', (await again.answer())?.status, 200);
    return '200, closed';
  },
};

export const CONNECTION_CASES: readonly Case[] = [reuse, byDefault, oldClients, oldWithoutHost];
