import { expectEqual } from '../case.ts';
import { Client } from '../client.ts';
import { ask, COST, createKey, type ForwardCase, PROTECTED } from './case.ts';

/** What a client could hope to change the question with. */
const QUERIES = [
  '?cost=0',
  '?cost=0&permission=other&apiId=api_other&deny=403',
  '?permission=other',
  '?a=1&cost=0',
  '?',
  '??cost=0',
  '?%26cost=0',
  '%3Fcost=0',
  '%26cost=0',
];
const SETTINGS = ['Cost', 'Permission', 'ApiId', 'Api-Id', 'Tag', 'Deny', 'Query', 'Code'];
const HEADERS = [
  ...SETTINGS.flatMap((name) => [`${name}: 0`, `Keystile-${name}: 0`, `X-Keystile-${name}: 0`]),
  'X-Original-URI: /?cost=0',
  'X-Forwarded-Uri: /v1/keys.forwardAuth?cost=0',
  'X-Rewrite-URL: /v1/keys.forwardAuth?cost=0',
  'X-Forwarded-Method: OPTIONS',
  'X-HTTP-Method-Override: OPTIONS',
  'Idempotency-Key: the-same-each-time',
];

const query: ForwardCase = {
  name: 'the query of a client changes nothing and reaches the service',
  async run({ kind, gateway, node, app }) {
    const { key, keyId } = await createKey(node, { remaining: 1000 });
    const { key: refused } = await node.server.createKey({});
    app.take();
    for (const [i, added] of QUERIES.entries()) {
      const target = PROTECTED + added;
      expectEqual(target, (await ask(gateway.port, key, { target })).status, 200);
      expectEqual('remaining credits', await node.server.remaining(keyId), 1000 - (i + 1) * COST);
      expectEqual(`${target} without the permission`, (await ask(gateway.port, refused, { target })).status, 403);
    }
    const reached = app.take().map(({ target }) => target);
    expectEqual('requests to the service', reached.length, QUERIES.length);
    expectEqual('the first query', reached[0], `${PROTECTED}?cost=0`);
    // Only nginx has a location for its subrequest.
    const { status } = await ask(gateway.port, null, { target: '/_keystile?cost=0' });
    if (kind.name === 'nginx') expectEqual('the location of the subrequest', status, 404);
    return `${QUERIES.length} queries, each took ${COST} credits`;
  },
};

const headers: ForwardCase = {
  name: 'headers of a client that look like settings change nothing',
  async run({ gateway, node }) {
    const { key, keyId } = await createKey(node, { remaining: 1000 });
    const { key: refused } = await node.server.createKey({});
    for (let i = 1; i <= 2; i++) {
      expectEqual('status', (await ask(gateway.port, key, { headers: HEADERS })).status, 200);
      expectEqual('remaining credits', await node.server.remaining(keyId), 1000 - i * COST);
    }
    expectEqual('without the permission', (await ask(gateway.port, refused, { headers: HEADERS })).status, 403);
    return `${HEADERS.length} headers, Idempotency-Key among them`;
  },
};

const twoKeys: ForwardCase = {
  name: 'two keys in one request',
  async run({ gateway, node, app }) {
    const [{ key }, { key: other }] = [await createKey(node), await createKey(node)];
    app.take();
    const status = async (...lines: string[]) => (await ask(gateway.port, key, { headers: lines })).status;
    expectEqual('two that differ', await status(`X-API-Key: ${other}`), 401);
    expectEqual('reached the service', app.take().length, 0);
    expectEqual('the same twice', await status(`X-API-Key: ${key}`), 200);
    return '401 where they differ';
  },
};

const methods: ForwardCase = {
  name: 'every method, with and without a body, and HTTP/1.0',
  async run({ gateway, node, app }) {
    const { key, keyId } = await createKey(node, { remaining: 1000 });
    app.take();
    const bodies = [
      ['GET', ''],
      ['HEAD', ''],
      ['DELETE', ''],
      ['OPTIONS', ''],
      ['POST', '{"key":"other","remaining":{"cost":0}}'],
      ['PUT', 'x'.repeat(100_000)],
      ['PATCH', '{}'],
    ] as const;
    for (const [method, body] of bodies) {
      using client = await Client.open(gateway.port);
      const length = body === '' ? [] : [`Content-Length: ${body.length}`];
      client.send(requestText(method, [`X-API-Key: ${key}`, ...length], body));
      expectEqual(method, (await client.answer(method === 'HEAD'))?.status, 200);
    }
    using chunked = await Client.open(gateway.port);
    chunked.send(requestText('POST', [`X-API-Key: ${key}`, 'Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'));
    expectEqual('chunked', (await chunked.answer())?.status, 200);
    using old = await Client.open(gateway.port);
    old.send(`GET ${PROTECTED} HTTP/1.0\r\nHost: keys.example.com\r\nX-API-Key: ${key}\r\n\r\n`);
    expectEqual('HTTP/1.0', (await old.answer())?.status, 200);
    const reached = app.take().map(({ method, body }) => [method, body]);
    expectEqual('seen by the service', reached, [...bodies, ['POST', 'hello'], ['GET', '']]);
    const count = bodies.length + 2;
    expectEqual('remaining credits', await node.server.remaining(keyId), 1000 - count * COST);
    for (const [method] of bodies) {
      expectEqual(`${method} without a key`, (await ask(gateway.port, null, { method })).status, 401);
    }
    return `${count} requests passed with their bodies; without a key none`;
  },
};

const expecting: ForwardCase = {
  name: 'Expect: 100-continue',
  async run({ gateway, node, app }) {
    const { key } = await createKey(node);
    app.take();
    using client = await Client.open(gateway.port);
    client.send(requestText('POST', [`X-API-Key: ${key}`, 'Content-Length: 5', 'Expect: 100-continue'], ''));
    expectEqual('first', (await client.answer())?.status, 100);
    client.send('hello');
    let last = await client.answer();
    // A gateway may also send on what the service says.
    while (last?.status === 100) last = await client.answer();
    expectEqual('last', last?.status, 200);
    expectEqual('seen by the service', app.take()[0]?.body, 'hello');
    return '100, then the answer of the service';
  },
};

const addresses: ForwardCase = {
  name: 'an allowlist sees the address of the client',
  async run({ gateway, node }) {
    const { key } = await createKey(node, { ipAllowlist: ['127.0.0.9'] });
    const statuses: number[] = [];
    for (const [from, lines] of [
      ['127.0.0.9', []],
      ['127.0.0.8', []],
      ['127.0.0.8', ['X-Forwarded-For: 127.0.0.9']],
      ['127.0.0.8', ['X-Forwarded-For: 127.0.0.9, 127.0.0.1', 'X-Real-IP: 127.0.0.9', 'Forwarded: for=127.0.0.9']],
      ['127.0.0.9', ['X-Forwarded-For: 127.0.0.8']],
    ] as const) {
      statuses.push((await ask(gateway.port, key, { from, headers: lines })).status);
    }
    expectEqual('statuses', statuses, [200, 403, 403, 403, 200]);
    return 'the address that the gateway saw is checked';
  },
};

function requestText(method: string, lines: readonly string[], body: string): string {
  return [`${method} ${PROTECTED} HTTP/1.1`, 'Host: keys.example.com', ...lines, '', body].join('\r\n');
}

export const CLIENT_CASES: readonly ForwardCase[] = [query, headers, twoKeys, methods, expecting, addresses];
