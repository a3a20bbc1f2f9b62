import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { LOCATIONS, Setup } from '../../support/cluster/clusterSetup.ts';
import { hammer } from '../../support/cluster/clients.ts';
import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';

const MAX_LIMITS = 100;

/** Three nodes for all tests of this file. */
let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start({ settings: { KEYSTILE_MAX_LIMITS_PER_NAMESPACE: String(MAX_LIMITS) } });
});

afterAll(() => setup[Symbol.asyncDispose]());

describe('standalone limits', () => {
  /** KEYSTILE_STALE_MAX as it comes: no request that arrives later is decided on the old state. */
  const BOUND_MS = 1000;
  /** So long that no test meets the end of its window. */
  const YEAR_MS = 366 * 86_400_000;
  const limit = (node: number, fields: Record<string, unknown>) =>
    setup.ok(node, '/v1/ratelimits.limit', { duration: YEAR_MS, ...fields });

  const times = <T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => make(i)));

  test('200 strict calls at both, which make the namespace on the way: exactly as many succeed as the limit says', async () => {
    const answers = await times(200, (i) => limit(i % 2, { namespace: 'strict', identifier: 'user', limit: 60 }));
    expect(answers.filter(({ success }) => success).length).toBe(60);
    for (const node of [0, 1]) {
      const left = await limit(node, { namespace: 'strict', identifier: 'user', limit: 60, cost: 0 });
      expect(left).toMatchObject({ success: true, remaining: 0 });
    }
    expect(await setup.postgres.query("SELECT name FROM namespaces WHERE name = 'strict'")).toEqual([
      { name: 'strict' },
    ]);
  });

  test('calls of several limits that share one: all or nothing, over both', async () => {
    const shared = { namespace: 'multi', identifier: 'shared', limit: 20, duration: YEAR_MS };
    const own = (i: number) => ({ namespace: 'multi', identifier: `own_${i}`, limit: 5, duration: YEAR_MS });
    const answers = await times(60, (i) =>
      setup.ok(i % 2, '/v1/ratelimits.multiLimit', { limits: [own(i), shared, own(i)] }),
    );
    expect(answers.filter(({ success }) => success).length).toBe(20);
    const lefts = await times(60, async (i) => (await limit((i + 1) % 2, { ...own(i), cost: 0 })).remaining);
    expect(lefts).toEqual(answers.map(({ success }) => (success === true ? 3 : 5)));
  });

  test('what one has let through of a local limit the other learns', async () => {
    const asked = { namespace: 'local', identifier: 'user', limit: 100, async: true };
    await limit(1, asked);
    await times(10, () => limit(0, asked));
    await until('the other has heard', async () => (await limit(1, { ...asked, cost: 0 })).remaining === 89);
  });

  test('an override that is set, changed or deleted at one is used by the other within the freshness bound', async () => {
    const asked = { namespace: 'overrides', identifier: 'user', limit: 10, async: true };
    const name = { namespaceName: 'overrides', identifier: 'user' };
    /** Asks without pause; answers how long ago the change was when the last old answer was asked for. */
    const seen = async (from: number, to: number): Promise<number> => {
      const sinceMs = performance.now();
      let lastMs = 0;
      for (;;) {
        const askedMs = performance.now() - sinceMs;
        const answer = await limit(1, { ...asked, cost: 0 });
        if (answer.limit === to) return lastMs;
        expect(answer.limit).toBe(from);
        lastMs = askedMs;
      }
    };
    await limit(1, asked);
    await setup.ok(0, '/v1/ratelimits.setOverride', { ...name, limit: 20, duration: YEAR_MS, async: true });
    expect(await seen(10, 20)).toBeLessThan(BOUND_MS);
    await setup.ok(0, '/v1/ratelimits.setOverride', { ...name, limit: 30, duration: YEAR_MS, async: true });
    expect(await seen(20, 30)).toBeLessThan(BOUND_MS);
    await setup.ok(0, '/v1/ratelimits.deleteOverride', name);
    expect(await seen(30, 10)).toBeLessThan(BOUND_MS);
  });

  test('20 that set one override at both at the same time: one id', async () => {
    await limit(0, { namespace: 'race', identifier: 'user', limit: 1, cost: 0 });
    const ids = await times(20, async (i) => {
      const body = { namespaceName: 'race', identifier: 'user', limit: i, duration: YEAR_MS };
      return (await setup.ok(i % 2, '/v1/ratelimits.setOverride', body)).overrideId;
    });
    expect(new Set(ids).size).toBe(1);
    const stored = await setup.ok(1, '/v1/ratelimits.getOverride', { namespaceName: 'race', identifier: 'user' });
    expect(stored.id).toBe(ids[0] as string);
  });

  test('a namespace that one has filled is full for the other, and goes on with the counters that it has', async () => {
    const asked = (i: number) => ({ namespace: 'full', identifier: `user_${i}`, limit: 5, duration: YEAR_MS });
    await setup.ok(0, '/v1/ratelimits.multiLimit', { limits: Array.from({ length: MAX_LIMITS }, (_, i) => asked(i)) });
    for (const node of [0, 1]) {
      const refused = await setup.node(node).call('/v1/ratelimits.limit', asked(MAX_LIMITS + 1));
      expect([refused.status, refused.body]).toMatchObject([503, { error: { code: 'UNAVAILABLE' } }]);
      expect(await limit(node, asked(7))).toMatchObject({ success: true, remaining: 3 - node });
    }
  });

  test('the resources of a call stand in the audit log when it is answered', async () => {
    const resources = [{ type: 'file', id: 'f_1' }];
    await limit(1, { namespace: 'audit', identifier: 'user', limit: 1, resources });
    const rows = await setup.postgres.query("SELECT after_json FROM audit_entries WHERE action = 'ratelimit.limit'");
    expect(rows).toEqual([{ after_json: JSON.stringify({ identifier: 'user', success: true, resources }) }]);
  });
});

describe('changes', () => {
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
  });

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

describe('sessions', () => {
  /** As behind a load balancer: the browser knows one host, whichever node answers. */
  const PAGE = { host: 'localhost', origin: 'http://localhost', 'keystile-page': 'person' };

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

interface Listed {
  readonly id: string;
  readonly location: string;
  readonly seenAtMs: number;
  readonly isGone: boolean;
}

async function run(...words: string[]): Promise<string> {
  const { code, out, err } = await keystile(words, {
    environment: { KEYSTILE_DATABASE_URL: setup.postgres.url(), KEYSTILE_ALLOW_FSYNC_OFF: 'on' },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** By location: here each has one node. */
async function listed(): Promise<Map<string, Listed>> {
  const { nodes } = JSON.parse(await run('nodes', '--json')) as { nodes: Listed[] };
  return new Map(nodes.map((node) => [node.location, node]));
}

const isSeen = async (location: string, sinceMs: number): Promise<boolean> => {
  const [row] = await setup.postgres.query(`SELECT seen_at_ms FROM nodes WHERE location = '${location}'`);
  return Number(row?.['seen_at_ms']) >= sinceMs;
};

test('keystile nodes shows every location; a stopped node leaves the list, a killed one is not seen any more', async () => {
  const startIn = (location: string) => KeystileNode.start({ databaseUrl: setup.postgres.url(), location });
  const [stopped, killed] = await Promise.all([startIn('stopped'), startIn('killed')]);
  await using started = new AsyncDisposableStack();
  for (const node of [stopped, killed]) started.use(node);
  // A node is there for the others before it answers anyone: who was alone tells it the local counts.
  expect(await setup.postgres.query(`SELECT 1 AS found FROM nodes WHERE location = 'stopped'`)).toEqual([{ found: 1 }]);
  expect([...(await listed()).keys()]).toEqual([...LOCATIONS, 'killed', 'stopped'].sort());

  expect(await stopped.stop()).toBe(0);
  expect([...(await listed()).keys()]).toEqual([...LOCATIONS, 'killed'].sort());

  await killed.kill();
  const before = await listed();
  // The other node was last seen up to 1.1 s ago: after this the killed one would have been seen once more.
  const sinceMs = (before.get('eu')?.seenAtMs ?? NaN) + 2_500;
  await until('the other node is seen again', () => isSeen('eu', sinceMs));
  expect((await listed()).get('killed')).toEqual({ ...(before.get('killed') as Listed), isGone: false });

  // Ten seconds of silence, without waiting for them.
  await setup.postgres.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 10000 WHERE location = 'killed'`);
  const gone = [...(await listed()).values()].map(({ location, isGone }) => ({ location, isGone }));
  expect(gone).toEqual(
    [...LOCATIONS, 'killed'].sort().map((location) => ({ location, isGone: location === 'killed' })),
  );
  expect(await run('nodes')).toMatch(/^killed .* \d+ s ago, gone /m);

  // One that is not coming back is forgotten, and no other.
  const id = before.get('killed')?.id ?? '';
  expect(JSON.parse(await run('nodes', 'forget', id, '--json'))).toEqual({ forgotten: id });
  expect([...(await listed()).keys()]).toEqual([...LOCATIONS].sort());
});

test('a node that was seen a moment ago is not forgotten, and one that nobody knows is told', async () => {
  const forget = (id: string) =>
    keystile(['nodes', 'forget', id], {
      environment: { KEYSTILE_DATABASE_URL: setup.postgres.url(), KEYSTILE_ALLOW_FSYNC_OFF: 'on' },
    });
  const alive = (await listed()).get('eu')?.id ?? '';
  expect(await forget(alive)).toEqual({
    code: 1,
    out: '',
    err: `The node "${alive}" was seen within the last 10 seconds. Nothing was changed. Stop it: a node that stops leaves the list by itself.\n`,
  });
  expect(await forget('node_unknown')).toEqual({
    code: 1,
    out: '',
    err: 'There is no node "node_unknown" in the list. Nothing was changed. keystile nodes shows the list.\n',
  });
  expect([...(await listed()).keys()]).toEqual([...LOCATIONS].sort());
});

interface Status {
  readonly nodes: readonly {
    readonly location: string;
    readonly isSelf: boolean;
    readonly isGone: boolean;
    readonly freshnessAgeMs?: number;
  }[];
  readonly problems: readonly { readonly name: string; readonly text: string }[];
}

test('every node tells of all nodes, and one that was killed is a problem', async () => {
  const read = async (node: number) => (await setup.ok(node, '/v1/service.getStatus', {})) as unknown as Status;
  await using killed = await KeystileNode.start({ databaseUrl: setup.postgres.url(), location: 'killed' });
  await until('the new node is in the list', async () => (await read(0)).nodes.length === LOCATIONS.length + 1);
  for (const [place, location] of LOCATIONS.entries()) {
    const { nodes, problems } = await read(place);
    expect(nodes.map((each) => each.location)).toEqual([...LOCATIONS, 'killed'].sort());
    expect(nodes.filter(({ isSelf }) => isSelf).map((each) => each.location)).toEqual([location]);
    expect(nodes.every(({ freshnessAgeMs }) => freshnessAgeMs !== undefined)).toBe(true);
    expect(problems.filter(({ name }) => name === 'nodes')).toEqual([]);
  }
  await killed.kill();
  // It is gone when it was not seen for ten seconds. The row is made older, instead of waiting.
  await setup.postgres.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 20000 WHERE location = 'killed'`);
  await until('it is gone', async () => (await read(1)).nodes.some(({ isGone }) => isGone));
  const { nodes, problems } = await read(1);
  expect(nodes.filter(({ isGone }) => isGone).map((each) => each.location)).toEqual(['killed']);
  expect(problems.find(({ name }) => name === 'nodes')?.text).toContain('killed');
  await setup.postgres.query(`DELETE FROM nodes WHERE location = 'killed'`);
});

test('a node that serves is in the list of nodes with its schema version as soon as the database is open, a command never', async () => {
  await using lab = await FaultLab.start();
  await lab.open({ node: 'node_serving', version: '1.2.3' });
  await lab.open({ node: 'node_command', upgrades: false });
  expect(await lab.query('SELECT id, version, schema_version FROM nodes')).toEqual([
    { id: 'node_serving', version: '1.2.3', schema_version: String(SCHEMA_VERSION) },
  ]);
});

test('a node hears at its next sign of life that the database was migrated past it, and not before', async () => {
  await using lab = await FaultLab.start();
  const told: string[] = [];
  const node = await lab.open({ onOutdated: ({ message }) => void told.push(message) });
  const migrated = (version: number, compatibleFrom: number): Promise<unknown> =>
    lab.query(
      `UPDATE installation SET value = CASE name WHEN 'schema_version' THEN '${version}' ELSE '${compatibleFrom}' END
        WHERE name IN ('schema_version', 'schema_compatible_from')`,
    );
  await node.sayHello(null);
  await migrated(SCHEMA_VERSION + 1, SCHEMA_VERSION);
  await node.sayHello(null);
  expect(told).toEqual([]);
  await migrated(SCHEMA_VERSION + 2, SCHEMA_VERSION + 1);
  await node.sayHello(null);
  expect(told).toEqual([
    `The database has schema version ${SCHEMA_VERSION + 2}, which needs a program for version ${SCHEMA_VERSION + 1} or newer; this one is for ${SCHEMA_VERSION}. Start the newer program that migrated it.`,
  ]);
});

const CLIENTS = 64;
const LIMIT = 50;
const WINDOW_MS = 1000;
/** Every client asks for each of them in turn. Their windows begin and end together. */
const KEYS = 4;
/** Windows in which every key was asked for more often than its limit admits: 20 in all. */
const FULL_WINDOWS_OF_A_KEY = 5;
/** A client that was refused asks again so much later. All of them ask again at the beginning of the next window. */
const PAUSE_MS = 50;

/** What was asked in one window, and what of it was valid, by the place of the key. */
class Window {
  readonly asked = Array.from({ length: KEYS }, () => 0);
  readonly valid = Array.from({ length: KEYS }, () => 0);

  add(place: number, isValid: boolean): void {
    this.asked[place] = (this.asked[place] ?? 0) + 1;
    if (isValid) this.valid[place] = (this.valid[place] ?? 0) + 1;
  }

  get isFull(): boolean {
    return Math.min(...this.asked) >= LIMIT;
  }
}

test('a strict limit of 50 a second, 64 clients at three nodes: never more than 50 in any window, and exactly 50 in each of 20 in which more asked', async () => {
  const ratelimit = { async: false, limit: LIMIT, duration: WINDOW_MS };
  const keys = await Promise.all(Array.from({ length: KEYS }, () => setup.createKey({ ratelimit })));
  const turns = Array.from({ length: CLIENTS }, (_, client) => client);
  const placeOf = (client: number): number => (turns[client] ?? 0) % KEYS;
  /** By their end, as the ledger named it. */
  const windows = new Map<number, Window>();
  const others: unknown[] = [];
  const fullWindows = (): Window[] => [...windows.values()].filter(({ isFull }) => isFull);
  await hammer(
    setup,
    CLIENTS,
    (client) =>
      fullWindows().length < FULL_WINDOWS_OF_A_KEY && others.length === 0 ? { key: keys[placeOf(client)]?.key } : null,
    async (reply, client) => {
      const reset = reply.kind === 'verdict' ? reply.verdict.ratelimit?.reset : undefined;
      if (reply.kind !== 'verdict' || reset === undefined) return void others.push(reply);
      const window = windows.get(reset) ?? new Window();
      windows.set(reset, window);
      window.add(placeOf(client), reply.verdict.valid);
      turns[client] = (turns[client] ?? 0) + 1;
      if (!reply.verdict.valid) await Bun.sleep(PAUSE_MS);
    },
  );
  expect(others).toEqual([]);
  for (const { valid } of windows.values()) expect(Math.max(...valid)).toBeLessThanOrEqual(LIMIT);
  const full = fullWindows();
  expect(full.length).toBeGreaterThanOrEqual(FULL_WINDOWS_OF_A_KEY);
  for (const { valid } of full) expect(valid).toEqual(keys.map(() => LIMIT));
});

describe('reservations', () => {
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

  test('those of a key are held as many as may be, also those that hold nothing', async () => {
    const { key, keyId } = await setup.createKey();
    await setup.postgres.query(
      `INSERT INTO reservations (id, key_id, api_id, cost, expires_at_ms, on_expiry, created_at_ms, parts, state, charged, returned, answer)
      SELECT 'rsv_' || i, id, api_id, 0, 9007199254740991, 'release', 1, '[]', 'held', 0, 0, '[]'
      FROM keys, generate_series(1, 9990) i WHERE id = '${keyId}'`,
    );
    const asked = Array.from({ length: 60 }, (_, i) =>
      setup.node(i % 2).call('/v1/reservations.create', { key, cost: 1 }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect([200, 429].map((code) => statuses.filter((status) => status === code).length)).toEqual([10, 50]);
  });

  // The last of this file: the killed node stays in the list for a while.
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
