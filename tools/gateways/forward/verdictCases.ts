import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { freePort } from '../../cluster/ports.ts';
import { until } from '../../cluster/wait.ts';
import { allSettledOrThrow, expectEqual } from '../case.ts';
import type { Answer } from '../client.ts';
import { Node } from '../node.ts';
import { ask, COST, createKey, type ForwardCase, type ForwardContext } from './case.ts';

const CROWD = 20;
const WINDOW_MS = 366 * 24 * 60 * 60 * 1000;

const passes: ForwardCase = {
  name: 'a valid key: the service learns whose it is, and not the secret',
  async run({ gateway, node, app }) {
    const externalId = 'user 1, 日本\r\nX: y';
    const { key, keyId } = await createKey(node, { remaining: 10, externalId });
    const forged = ['Keystile-Key-Id: forged', 'Keystile-External-Id: forged', 'Keystile-Remaining: 99'];
    for (const headers of [[`Authorization: Bearer ${key}`], [`X-API-Key: ${key}`]]) {
      const answer = await ask(gateway.port, null, { headers: [...headers, ...forged] });
      expectEqual('answer', [answer.status, answer.body], [200, 'from the service']);
    }
    const reached = app.take().map(({ headers }) => ({
      id: headers.get('keystile-key-id'),
      owner: decodeURIComponent(headers.get('keystile-external-id') ?? ''),
      left: headers.get('keystile-remaining'),
      secrets: [headers.get('authorization'), headers.get('x-api-key')],
    }));
    const expected = { id: keyId, owner: externalId, secrets: [null, null] };
    expectEqual('seen by the service', reached, [
      { ...expected, left: '8' },
      { ...expected, left: '6' },
    ]);
    expectEqual('remaining credits', await node.server.remaining(keyId), 10 - 2 * COST);
    return 'id, owner and credits arrive; headers of the client with these names do not';
  },
};

const nothing: ForwardCase = {
  name: 'a key without an owner and credits: the service gets no header for them',
  async run({ gateway, node, app }) {
    const { key, keyId } = await createKey(node);
    app.take();
    const headers = ['Keystile-External-Id: forged', 'Keystile-Remaining: 99'];
    expectEqual('status', (await ask(gateway.port, key, { headers })).status, 200);
    const [reached] = app.take();
    const seen = ['keystile-key-id', 'keystile-external-id', 'keystile-remaining'].map((name) =>
      reached?.headers.get(name),
    );
    expectEqual('seen by the service', seen, [keyId, null, null]);
    return 'forged ones are removed';
  },
};

const longest: ForwardCase = {
  name: 'the longest headers of an answer: an external id, many limits, credits',
  async run({ gateway, node, app }) {
    const externalId = '😀'.repeat(256);
    const ratelimits = Array.from({ length: 50 }, (_, i) => {
      return { name: '"'.repeat(126) + String(i), limit: Number.MAX_SAFE_INTEGER, duration: WINDOW_MS };
    });
    const remaining = Number.MAX_SAFE_INTEGER;
    const { key } = await createKey(node, { externalId, remaining, ratelimits });
    app.take();
    expectEqual('status', (await ask(gateway.port, key)).status, 200);
    const [reached] = app.take();
    expectEqual('owner', decodeURIComponent(reached?.headers.get('keystile-external-id') ?? ''), externalId);
    return `${reached?.headers.get('keystile-external-id')?.length} characters arrive`;
  },
};

const refusals: ForwardCase = {
  name: 'each refusal has its status, and does not reach the service',
  async run({ gateway, node, app }) {
    const { server } = node;
    const expires = Date.now() + 1000;
    const keys = {
      DISABLED: await createKey(node, { enabled: false }),
      EXPIRED: await createKey(node, { expires }),
      FORBIDDEN: await createKey(node, { ipAllowlist: ['192.0.2.1'] }),
      INSUFFICIENT_PERMISSIONS: await server.createKey({}),
      USAGE_EXCEEDED: await createKey(node, { remaining: COST - 1 }),
      RATE_LIMITED: await createKey(node, { ratelimit: { limit: 1, duration: WINDOW_MS, async: false } }),
    };
    expectEqual('within the limit', (await ask(gateway.port, keys.RATE_LIMITED.key)).status, 200);
    await until('the key has expired', () => Date.now() > expires);
    app.take();
    const statuses: Record<string, number> = {};
    for (const [code, { key }] of Object.entries(keys)) statuses[code] = (await ask(gateway.port, key)).status;
    statuses['NOT_FOUND'] = (await ask(gateway.port, 'unknown')).status;
    const without = await ask(gateway.port, null);
    statuses['no key'] = without.status;
    expectEqual('statuses', statuses, {
      DISABLED: 401,
      EXPIRED: 401,
      FORBIDDEN: 403,
      INSUFFICIENT_PERMISSIONS: 403,
      USAGE_EXCEEDED: 429,
      RATE_LIMITED: 429,
      NOT_FOUND: 401,
      'no key': 401,
    });
    expectEqual('WWW-Authenticate', without.headers['www-authenticate'], 'Bearer realm="keystile"');
    expectEqual('reached the service', app.take().length, 0);
    return '401, 403 and 429';
  },
};

const limited: ForwardCase = {
  name: 'a rate limit reaches the client as 429 with Retry-After',
  async run({ gateway, node }) {
    const { key } = await createKey(node, { ratelimit: { limit: 1, duration: WINDOW_MS, async: false } });
    await ask(gateway.port, key);
    const { status, headers } = await ask(gateway.port, key);
    const seconds = Number(headers['retry-after']);
    expectEqual('status', status, 429);
    expectEqual('Retry-After is within the window', seconds > 0 && seconds <= WINDOW_MS / 1000, true);
    expectEqual('RateLimit-Policy', headers['ratelimit-policy'], `"default";q=1;w=${WINDOW_MS / 1000}`);
    expectEqual('RateLimit begins', headers['ratelimit']?.startsWith('"default";r=0;t='), true);
    expectEqual('Keystile-Retryable', headers['keystile-retryable'], 'true');
    const { key: spent } = await createKey(node, { remaining: 0 });
    const refused = await ask(gateway.port, spent);
    const told = [refused.status, refused.headers['keystile-retryable'], refused.headers['retry-after']];
    expectEqual('without credits and refill', told, [429, 'false', undefined]);
    return `Retry-After: ${seconds}; without a refill, Keystile-Retryable: false`;
  },
};

const unreachable: ForwardCase = {
  name: 'Keystile cannot be reached: no request passes',
  async run({ kind, node, app, newFolder }) {
    await using own = await kind.start({ nodePort: freePort(), appPort: app.port, folder: newFolder() });
    const { key } = await createKey(node);
    app.take();
    const { status } = await ask(own.port, key);
    expectEqual('status', status, kind.unreachable);
    expectEqual('reached the service', app.take().length, 0);
    return String(status);
  },
};

const noVerdict: ForwardCase = {
  name: 'Keystile has no verdict: 503 with Retry-After',
  async run({ kind, app, newFolder }) {
    await using node = await Node.start({ KEYSTILE_MAX_WAITING: '1' });
    const { port } = node.server;
    await using own = await kind.start({ nodePort: port, appPort: app.port, folder: newFolder() });
    const { key, keyId } = await createKey(node, { remaining: 1000 });
    expectEqual('before', (await ask(own.port, key)).status, 200);
    // While another program holds up the commits of the node, few requests may wait, and the others are refused.
    using database = new Database(join(node.dataFolder, 'keystile.db'));
    database.run('BEGIN IMMEDIATE');
    const asked = Array.from({ length: CROWD }, () => ask(own.port, key));
    const refusal = await Promise.any(asked.map(isRefused));
    database.run('ROLLBACK');
    const passed = (await allSettledOrThrow(asked)).filter(({ status }) => status === 200).length;
    expectEqual('Retry-After', refusal.headers['retry-after'], '1');
    expectEqual('remaining credits', await node.server.remaining(keyId), 1000 - (1 + passed) * COST);
    return `${CROWD - passed} of ${CROWD} refused, the others passed`;
  },
};

async function isRefused(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  expectEqual('status', answer.status, 503);
  return answer;
}

const rootKeys: ForwardCase = {
  name: 'KEYSTILE_VERIFY_AUTH=required: the root key of the gateway',
  async run(context) {
    await using strict = await Node.start({ KEYSTILE_VERIFY_AUTH: 'required' });
    const { rootKey } = strict.server;
    const { key } = await createKey(strict);
    const statuses: number[] = [];
    for (const own of [rootKey, undefined, 'root_that_nobody_knows_0000001']) {
      statuses.push(await statusWith(context, strict, key, own));
    }
    expectEqual('with the root key, without, with another', statuses, [200, 403, 403]);
    return '200 with it; 403 without it and with a wrong one';
  },
};

async function statusWith({ kind, app, newFolder }: ForwardContext, node: Node, key: string, rootKey?: string) {
  const options = { nodePort: node.server.port, appPort: app.port, folder: newFolder() };
  await using own = await kind.start({ ...options, ...(rootKey === undefined ? {} : { rootKey }) });
  // What a client sends in its place does not count where the gateway sets the header.
  const headers = rootKey === undefined ? [] : ['Keystile-Root-Key: root_of_a_client_0000000000001'];
  return (await ask(own.port, key, { headers })).status;
}

export const VERDICT_CASES: readonly ForwardCase[] = [
  passes,
  nothing,
  longest,
  refusals,
  limited,
  unreachable,
  noVerdict,
  rootKeys,
];
