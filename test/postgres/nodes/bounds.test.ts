import { afterAll, beforeAll, expect, test } from 'bun:test';

import { Setup } from '../../support/cluster/clusterSetup.ts';

/** As behind a load balancer: the browser knows one host, whichever node answers. */
const ORIGIN = 'http://localhost';
const PAGE = { host: 'localhost', origin: ORIGIN, 'keystile-page': 'person', 'content-type': 'application/json' };
const MAX_KEYS = 40;
const CALLS = 150;

let setup: Setup;
let apiId = '';

beforeAll(async () => {
  const settings = { KEYSTILE_PUBLIC_URL: ORIGIN, KEYSTILE_MAX_KEYS: String(MAX_KEYS), KEYSTILE_MAX_APIS: '5' };
  setup = await Setup.start({ locations: ['eu', 'us'], settings });
  ({ apiId } = (await setup.ok(0, '/v1/apis.createApi', { name: 'bounds' })) as { apiId: string });
});

afterAll(() => setup[Symbol.asyncDispose]());

/** Calls the nodes in turn, all at the same time. Answers how often each status came. */
async function statusesOf(
  count: number,
  call: (node: number, i: number) => Promise<number>,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const status of await Promise.all(Array.from({ length: count }, (_, i) => call(i % 2, i)))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const call = async (node: number, path: string, body: object): Promise<number> =>
  (await setup.node(node).call(path, body)).status;

const send = (node: number, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(setup.node(node).url + path, { method: 'POST', headers: { ...PAGE, ...headers }, body: JSON.stringify(body) });

const count = async (sql: string): Promise<number> => Number((await setup.postgres.query(sql))[0]?.['count']);

test('a customer makes as many changes as it may, and has as many links; a root key has as many sessions', async () => {
  const customer = { externalId: 'acme', apiId, allow: ['delete'] };
  await setup.ok(0, '/v1/identities.createIdentity', { externalId: 'acme' });
  expect(await statusesOf(CALLS, (node) => call(node, '/v1/portal.createSession', customer))).toEqual({ 200: CALLS });
  const live = 'SELECT count(*) FROM portal_sessions WHERE until_ms > extract(epoch FROM now()) * 1000';
  expect(await count(live)).toBe(20);
  const cookies = await Promise.all(
    [0, 1, 0].map(async (node) => {
      const { url } = await setup.ok(node, '/v1/portal.createSession', customer);
      const answer = await send(node, '/portal/session', { token: String(url).split('#open=')[1] });
      return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    }),
  );
  // A change of a key that there is not counts: it was tried.
  const change = async (node: number, i: number): Promise<number> => {
    const cookie = cookies[i % cookies.length] ?? '';
    return (await send(node, '/portal/deleteKey', { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' }, { cookie })).status;
  };
  expect(await statusesOf(CALLS, change)).toEqual({ 404: 100, 429: CALLS - 100 });
  const { key } = await setup.ok(0, '/v1/rootKeys.createRootKey', { name: 'person', permissions: ['*'] });
  const signIn = async (node: number): Promise<number> =>
    (await send(node, '/dashboard/session', {}, { authorization: `Bearer ${String(key)}` })).status;
  expect(await statusesOf(CALLS, signIn)).toEqual({ 200: CALLS });
  expect(await count('SELECT count(*) FROM sessions')).toBe(50);
});

test('two nodes keep the quotas of the installation together', async () => {
  const apis = await count('SELECT count(*) FROM apis');
  const made = await statusesOf(30, (node, i) => call(node, '/v1/apis.createApi', { name: `api ${i}` }));
  expect(made).toEqual({ 200: 5 - apis, 412: 30 - 5 + apis });
  const keys = await statusesOf(CALLS, (node) => call(node, '/v1/keys.createKey', { apiId }));
  expect(keys).toEqual({ 200: MAX_KEYS, 412: CALLS - MAX_KEYS });
  expect(await count('SELECT count(*) FROM keys')).toBe(MAX_KEYS);
});

test('reservations of a key are held as many as may be, also those that hold nothing', async () => {
  await setup.postgres.query('DELETE FROM keys');
  const { key, keyId } = await setup.createKey();
  await setup.postgres.query(
    `INSERT INTO reservations (id, key_id, api_id, cost, expires_at_ms, on_expiry, created_at_ms, parts, state, charged, returned, answer)
      SELECT 'rsv_' || i, '${keyId}', '${apiId}', 0, 9007199254740991, 'release', 1, '[]', 'held', 0, 0, '[]'
      FROM generate_series(1, 9990) i`,
  );
  const reserve = (node: number) => call(node, '/v1/reservations.create', { key, cost: 1 });
  expect(await statusesOf(60, reserve)).toEqual({ 200: 10, 429: 50 });
});

test('overrides that both nodes make are together as many as may be', async () => {
  await setup.ok(0, '/v1/ratelimits.limit', { namespace: 'email', identifier: 'a', limit: 1, duration: 60_000 });
  const override = { namespaceName: 'email', identifier: 'first', limit: 1, duration: 60_000 };
  await setup.ok(0, '/v1/ratelimits.setOverride', override);
  await setup.postgres.query(
    `INSERT INTO overrides SELECT 'ovr_' || i, o.namespace_id, 'user_' || i, 1, 60000, 0, 1, NULL, 0
      FROM overrides o, generate_series(1, 9989) i`,
  );
  const set = (node: number, i: number) =>
    call(node, '/v1/ratelimits.setOverride', { ...override, identifier: `new_${i}` });
  expect(await statusesOf(60, set)).toEqual({ 200: 10, 412: 50 });
  expect(await count('SELECT count(*) FROM overrides')).toBe(10_000);
});
