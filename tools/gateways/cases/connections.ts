import { readFileSync } from 'node:fs';

import { until } from '../../cluster/wait.ts';
import { type Case, hold, together, verdictOf, type World } from '../case.ts';
import { Client } from '../client.ts';
import { haproxy } from '../haproxy.ts';
import { bare, verification } from '../requests.ts';

const SEQUENTIAL = 200;
/** One for each worker of the gateway. */
const MAX_REUSED = 4;

const LANES = 3;
const PAIRS_OF_EACH = 100;

/** Connections to the node that this machine knows of, also those that were closed less than a minute ago. */
function connectionsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const ports = lines.flatMap((line) => {
    // Address and port of both ends in hexadecimal.
    const [, local = '', remote = ''] = line.trim().split(/\s+/);
    if (remote.endsWith(`:${hex}`)) return [local];
    return local.endsWith(`:${hex}`) && !remote.endsWith(':0000') ? [remote] : [];
  });
  return new Set(ports).size;
}

const reuse: Case = {
  name: 'connections to the node are used again',
  async run({ gateway, node }) {
    const { key } = await node.server.createKey({});
    const before = connectionsTo(node.server.port);
    using client = await Client.open(gateway.port);
    for (let i = 0; i < SEQUENTIAL; i++) {
      client.send(verification(key));
      hold(`answer ${i}`, (await client.answer())?.status, 200);
    }
    const opened = connectionsTo(node.server.port) - before;
    hold(`at most ${MAX_REUSED} new connections (${opened})`, opened <= MAX_REUSED, true);
    return `${SEQUENTIAL} requests over ${opened} new connections`;
  },
};

/** What the gateway speaks to a node by default is HTTP/1.0. */
const byDefault: Case = {
  name: 'HTTP/1.0 by default: health checks of HAProxy, requests of nginx',
  limitOfRuntime: 'Bun closes behind HTTP/1.0 and does not say so',
  run: (world) => (world.kind.name === 'haproxy' ? defaultCheck(world) : defaultVersion(world)),
};

/** OPTIONS / HTTP/1.0 without Host. */
async function defaultCheck({ node, newFolder }: World): Promise<string> {
  await using own = await haproxy.start({
    nodePort: node.server.port,
    folder: newFolder(),
    changes: [['option httpchk GET /v1/readiness', 'option httpchk']],
  });
  // Before the first check has ended nothing is known: the status is UP, the check INI.
  await until(
    'the node was checked',
    async () => !['', 'INI'].includes((await own.told('check_status')).replace('* ', '')),
  );
  const [status, check] = [await own.told('status'), await own.told('check_status')];
  hold('status and check', [status, check], ['UP', 'L7OK']);
  return `${status}, ${check}`;
}

async function defaultVersion({ kind, node, newFolder }: World): Promise<string> {
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
  hold('what is left after each', left, [4, 3, 2, 1, 0]);
  return '5 of 5 valid';
}

const oldClients: Case = {
  name: `${LANES * PAIRS_OF_EACH} requests, each right after one of an HTTP/1.0 client`,
  limitOfRuntime: 'Bun closes behind HTTP/1.0 and does not say so',
  async run({ gateway, node }) {
    const { key } = await node.server.createKey({});
    const statuses: (number | undefined)[] = [];
    const lane = async (): Promise<void> => {
      for (let i = 0; i < PAIRS_OF_EACH; i++) {
        using other = await Client.open(gateway.port);
        using old = await Client.open(gateway.port);
        old.send(bare('GET /v1/liveness HTTP/1.0'));
        hold('answer to HTTP/1.0', (await old.answer())?.status, 200);
        // The gateway has a connection to the node that was just used. The node must have said that it closes it.
        other.send(verification(key));
        statuses.push((await other.answer())?.status);
      }
    };
    await together(Array.from({ length: LANES }, lane));
    hold('answers other than 200', countOthers(statuses), {});
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
    hold('status', (await client.answer())?.status, 200);
    hold('what follows', await client.rest(), '');
    using again = await Client.open(gateway.port);
    again.send(bare('GET /v1/liveness HTTP/1.0', 'Connection: keep-alive'));
    hold('status with keep-alive', (await again.answer())?.status, 200);
    return '200, closed';
  },
};

export const CONNECTION_CASES: readonly Case[] = [reuse, byDefault, oldClients, oldWithoutHost];
