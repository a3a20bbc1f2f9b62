import { afterAll, beforeAll, expect, test, describe } from 'bun:test';

import { Setup, sharedSetup } from '../../support/cluster/clusterSetup.ts';
import { until } from '../../../tools/cluster/wait.ts';

describe('changes', () => {
  let setup: Setup;

  beforeAll(async () => {
    setup = await Setup.start({ locations: ['eu', 'us'] });
  }, 60_000);

  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
  }, 60_000);

  const nodeOf = (i: number): number => i % 2;

  test('100 parallel increments and 1,000 parallel verifications of one key through two nodes add up exactly', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 500 });
    const increments = Array.from({ length: 100 }, (_, i) =>
      setup.ok(nodeOf(i), '/v1/keys.updateRemaining', { keyId, op: 'increment', value: 7 }),
    );
    const verifications = Array.from({ length: 1000 }, (_, i) => setup.ok(nodeOf(i), '/v1/keys.verifyKey', { key }));
    const verdicts = await Promise.all(verifications);
    await Promise.all(increments);
    const taken = verdicts.filter(({ valid }) => valid === true).length;
    expect(await setup.remaining(keyId)).toBe(500 + 100 * 7 - taken);
    expect(taken).toBeLessThanOrEqual(1000);
  }, 60_000);

  test('updates of different fields of one key at the same time, through two nodes, are all kept', async () => {
    const { keyId } = await setup.createKey({ remaining: 10 });
    const fields = [{ name: 'named' }, { meta: { a: 1 } }, { environment: 'test' }, { externalId: 'owner' }];
    await Promise.all(fields.map((field, i) => setup.ok(nodeOf(i), '/v1/keys.updateKey', { keyId, ...field })));
    expect(await setup.ok(0, '/v1/keys.getKey', { keyId })).toMatchObject({
      name: 'named',
      meta: { a: 1 },
      environment: 'test',
      ownerId: 'owner',
      remaining: 10,
    });
  });

  test('keys that two nodes create at the same time, in bulk and one by one, share the owner and the role that each names first', async () => {
    const { apiId } = await setup.ok(0, '/v1/apis.createApi', { name: 'together' });
    const fields = { externalId: 'named-by-both', roles: ['role-of-both'] };
    const inBulk = [0, 1].map((node) =>
      setup.ok(node, '/v1/keys.createKeys', { apiId, keys: Array.from({ length: 20 }, () => fields) }),
    );
    const oneByOne = Array.from({ length: 20 }, (_, i) =>
      setup.ok(nodeOf(i), '/v1/keys.createKey', { apiId, ...fields }),
    );
    const made = [...(await Promise.all(inBulk)).flatMap((answer) => answer['keys']), ...(await Promise.all(oneByOne))];
    const keys = made as { key: string }[];
    const verdicts = await Promise.all(keys.map(({ key }, i) => setup.ok(nodeOf(i), '/v1/keys.verifyKey', { key })));
    expect(new Set(verdicts.map(({ valid, ownerId, roles }) => JSON.stringify([valid, ownerId, roles])))).toEqual(
      new Set([JSON.stringify([true, 'named-by-both', ['role-of-both']])]),
    );
    expect(await setup.ok(1, '/v1/identities.getIdentity', { externalId: 'named-by-both' })).toMatchObject({
      keys: 60,
    });
  });

  test('what one node changes of identities, roles, secrets and apis, the other one goes by within a second', async () => {
    const { apiId } = await setup.ok(0, '/v1/apis.createApi', { name: 'changing' });
    const { identityId } = await setup.ok(0, '/v1/identities.createIdentity', { externalId: 'shared', remaining: 100 });
    const roles = ['editor'];
    await setup.ok(0, '/v1/permissions.createRole', { name: 'editor' });
    const made = await setup.ok(0, '/v1/keys.createKey', { apiId, externalId: 'shared', roles });
    const verify = (fields: object = {}) => setup.ok(1, '/v1/keys.verifyKey', { key: made.key, ...fields });
    /** Asks until the answer is as it should be; the bound is the one that is promised. */
    const within = async (what: string, isThere: () => Promise<boolean>): Promise<void> => {
      const startedAtMs = performance.now();
      while (!(await isThere())) {
        if (performance.now() - startedAtMs > 1_000) throw new Error(`after a second not seen: ${what}`);
      }
    };
    expect(await verify()).toMatchObject({ valid: true, remaining: 99, roles: ['editor'], permissions: [] });

    await setup.ok(0, '/v1/identities.updateIdentity', { identityId, meta: { plan: 'new' }, remaining: 50 });
    // Something exact is spent of it: this is seen at once.
    expect(await verify()).toMatchObject({ remaining: 49, identity: { meta: { plan: 'new' } } });

    const permissions = [{ name: 'documents.read', create: true }];
    await setup.ok(0, '/v1/permissions.setRolePermissions', { name: 'editor', permissions });
    const query = { authorization: { permissions: 'documents.read' }, remaining: { cost: 0 } };
    await within('the permission of the role', async () => (await verify(query)).valid === true);

    const rotated = await setup.ok(0, '/v1/keys.rotateKey', { keyId: made.keyId, overlapMs: 0 });
    expect(await verify()).toMatchObject({ code: 'NOT_FOUND' });
    expect(await setup.ok(1, '/v1/keys.verifyKey', { key: rotated.key })).toMatchObject({ remaining: 48 });

    expect(await setup.ok(0, '/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 1 });
    expect(await setup.ok(1, '/v1/keys.verifyKey', { key: rotated.key })).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('bounds', () => {
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
    fetch(setup.node(node).url + path, {
      method: 'POST',
      headers: { ...PAGE, ...headers },
      body: JSON.stringify(body),
    });

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
});

describe('sessions', () => {
  /** As behind a load balancer: the browser knows one host, whichever node answers. */
  const PAGE = { host: 'localhost', origin: 'http://localhost', 'keystile-page': 'person' };

  let setup: Setup;

  beforeAll(async () => {
    setup = await sharedSetup();
  });

  const send = (node: number, path: string, headers: Record<string, string>): Promise<Response> =>
    fetch(setup.node(node).url + path, {
      method: 'POST',
      headers: { ...PAGE, 'content-type': 'application/json', ...headers },
      body: '{}',
    });

  test('a session is accepted by every node, and what one node ends, ends on all of them', async () => {
    const made = await setup.ok(0, '/v1/rootKeys.createRootKey', { name: 'person', permissions: ['*'] });
    const signedIn = await send(0, '/dashboard/session', { authorization: `Bearer ${String(made['key'])}` });
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const statuses = (): Promise<number[]> =>
      Promise.all([0, 1, 2].map(async (node) => (await send(node, '/v1/apis.listApis', { cookie })).status));
    expect(await statuses()).toEqual([200, 200, 200]);
    const { session } = (await signedIn.json()) as { session: { sessionId: string } };
    await setup.ok(1, '/v1/sessions.endSession', { sessionId: session.sessionId });
    await until('all nodes refuse it', async () => (await statuses()).every((status) => status === 401));
  });
});

describe('reservations', () => {
  let setup: Setup;

  beforeAll(async () => {
    setup = await Setup.start({ locations: ['eu', 'us'] });
  });

  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
  });

  const reserve = (node: number, body: object): Promise<Record<string, unknown>> =>
    setup.ok(node, '/v1/reservations.create', body);
  const balance = async (node: number, keyId: string): Promise<object> => {
    const { remaining, held = 0 } = await setup.ok(node, '/v1/keys.getKey', { keyId });
    return { remaining, held };
  };

  test('what one node has reserved is settled by the other', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    const { reservationId } = await reserve(0, { key, cost: 40 });
    expect(await balance(1, keyId)).toEqual({ remaining: 60, held: 40 });
    const asked = { reservationId, cost: 25 };
    const settled = { charged: 25, returned: 15, remaining: 75 };
    expect(await setup.ok(1, '/v1/reservations.settle', asked)).toEqual(settled);
    expect(await setup.ok(0, '/v1/reservations.settle', asked)).toEqual(settled);
    expect(await balance(0, keyId)).toEqual({ remaining: 75, held: 0 });
  });

  test('two nodes reserve and spend at once: never more than there is, and all of it', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    const asked = Array.from({ length: 15 }, (_, i) => [
      reserve(i % 2, { key, cost: 7 }),
      setup.ok((i + 1) % 2, '/v1/keys.verifyKey', { key, remaining: { cost: 3 } }),
    ]).flat();
    const answers = await Promise.all(asked);
    const held = answers.filter(({ reservationId }) => reservationId !== undefined).length * 7;
    const spent =
      answers.filter(({ valid, reservationId }) => valid === true && reservationId === undefined).length * 3;
    expect(await balance(1, keyId)).toEqual({ remaining: 100 - held - spent, held });
    expect(100 - held - spent).toBeLessThan(7);
  });

  test('one idempotency key through both nodes is one reservation', async () => {
    for (const credits of [{ remaining: 100 }, {}]) {
      const { key } = await setup.createKey(credits);
      const asked = { key, cost: 40, idempotencyKey: 'call-4711' };
      const answers = await Promise.all([0, 1, 0, 1].map((node) => reserve(node, asked)));
      expect(new Set(answers.map(({ reservationId }) => reservationId)).size).toBe(1);
    }
  });

  test('a settlement and a release at two nodes at once: one of them is done', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    for (let round = 0; round < 5; round++) {
      const { reservationId } = await reserve(0, { key, cost: 10 });
      const answers = await Promise.all([
        setup.node(0).call('/v1/reservations.settle', { reservationId, cost: 10 }),
        setup.node(1).call('/v1/reservations.release', { reservationId }),
      ]);
      const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
      expect([done?.status, ...others.map(({ status }) => status)]).toEqual([200, 409]);
      const charged = (done?.body as { charged: number } | undefined)?.charged ?? NaN;
      await setup.ok(0, '/v1/keys.updateRemaining', { keyId, op: 'increment', value: charged });
      expect(await balance(1, keyId)).toEqual({ remaining: 100, held: 0 });
    }
  });

  test('a node that dies loses nothing: what it has reserved expires on the other', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    const [short, long] = [await reserve(1, { key, cost: 30, ttlMs: 1_000 }), await reserve(1, { key, cost: 40 })];
    await setup.node(1).kill();
    expect(await setup.ok(0, '/v1/reservations.get', { reservationId: long.reservationId })).toMatchObject({
      state: 'held',
    });
    await until('the short one has expired', async () => {
      const { state } = await setup.ok(0, '/v1/reservations.get', { reservationId: short.reservationId });
      return state === 'expired';
    });
    expect(await balance(0, keyId)).toEqual({ remaining: 60, held: 40 });
    await setup.startAgain(1);
    const asked = { reservationId: long.reservationId, cost: 5 };
    expect(await setup.ok(1, '/v1/reservations.settle', asked)).toEqual({ charged: 5, returned: 35, remaining: 95 });
  });
});
