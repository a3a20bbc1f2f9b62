import { expect, test } from 'bun:test';

import {
  MAX_LIVE_GRANTS,
  MAX_NAMESPACES,
  MAX_OVERRIDES_PER_NAMESPACE,
  MAX_PATTERNS_PER_NAMESPACE,
  MAX_PERMISSIONS,
  MAX_PLANS,
  MAX_ROLES,
  MAX_WEBHOOKS,
} from '../../../../src/core/bounds.ts';
import type { RootKeyRecord } from '../../../../src/model/access.ts';
import { COMMAND_LINE } from '../../../../src/engine/admin/change/requireRight.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, identity, namespace, override, permission, plan, role, rootKey, write } from '../samples.ts';

const CALLS = 24;
const FREE = 5;
/** Rows of one change, so that no statement has more parameters than PostgreSQL takes. */
const CHUNK = 1_000;

const BOX = { seal: (text: string) => text, open: (text: string) => text };

/** Two engines on one storage count and answer as two nodes do. An embedded database has one node. */
const nodesOn = (storage: Storage, quotas = {}): readonly [Engine, Engine] => {
  const make = () =>
    engineOn(storage, {
      secretBox: BOX,
      quotas: {
        keys: null,
        apis: null,
        verificationsPerSecond: null,
        managementCallsPerSecond: Infinity,
        managementBytesPerSecond: Infinity,
        ...quotas,
      },
    });
  const node = make();
  return [node, storage.localCounts.isShared ? make() : node];
};

/** As many as may be, but FREE. */
async function fill(storage: Storage, most: number, make: (i: number) => RecordWrite): Promise<void> {
  const writes = Array.from({ length: most - FREE }, (_, i) => make(i));
  for (let at = 0; at < writes.length; at += CHUNK) {
    expect((await write(storage, ...writes.slice(at, at + CHUNK))).status).toBe('done');
  }
}

/** Calls both nodes at the same time. Answers how many were done, and with which codes the others were refused. */
async function outcomesOf(
  nodes: readonly [Engine, Engine],
  call: (engine: Engine, i: number) => Promise<unknown>,
): Promise<{ done: number; refused: string[] }> {
  const settled = await Promise.allSettled(Array.from({ length: CALLS }, (_, i) => call(nodes[i % 2] as Engine, i)));
  const refused = settled.flatMap((each) =>
    each.status === 'rejected' ? [String((each.reason as { code?: string }).code ?? each.reason)] : [],
  );
  return { done: settled.length - refused.length, refused: [...new Set(refused)] };
}

const ACTOR = { ...COMMAND_LINE, id: 'rk_1' };
const LINK = { apiId: 'api_1', allow: ['create'], keyDefaults: null, returnUrl: null } as const;

const FULL = { done: FREE, refused: ['PRECONDITION_FAILED'] };

const limitIn = (engine: Engine, name: string) =>
  engine.ratelimits.limits.limit(COMMAND_LINE, [
    { namespace: name, identifier: 'a', limit: 1, durationMs: 60_000, async: true, cost: 1, resources: [] },
  ]);

describePort('bounds, when calls come to two nodes at the same time', (setup) => {
  test.each<[string, number, (i: number) => RecordWrite, (engine: Engine, i: number) => Promise<unknown>]>([
    [
      'plans',
      MAX_PLANS,
      (i) => ({ kind: 'insertPlan', plan: plan(`plan_${i}`, `plan ${i}`) }),
      (engine, i) => engine.plans.create(COMMAND_LINE, `new ${i}`, {}),
    ],
    [
      'webhooks',
      MAX_WEBHOOKS,
      (i) => ({
        kind: 'insertWebhook',
        webhook: {
          id: `wh_${i}`,
          url: 'https://example.com',
          types: null,
          apiIds: null,
          enabled: true,
          pausedAtMs: null,
          pausedBecause: null,
          secret: 'sealed',
          formerSecret: null,
          formerUntilMs: null,
          createdAtMs: 1,
          updatedAtMs: null,
          revision: 0,
        },
      }),
      (engine) => engine.webhooks.create(COMMAND_LINE, { url: 'https://example.com' }),
    ],
    [
      'permissions',
      MAX_PERMISSIONS,
      (i) => ({ kind: 'insertPermission', permission: permission(`perm_${i}`, `slug.${i}`) }),
      (engine, i) =>
        engine.permissions.createPermission(COMMAND_LINE, { name: `n${i}`, slug: `n${i}`, description: null }),
    ],
    [
      'roles',
      MAX_ROLES,
      (i) => ({ kind: 'insertRole', role: role(`role_${i}`, `role ${i}`) }),
      (engine, i) => engine.permissions.createRole(COMMAND_LINE, { name: `new ${i}`, description: null }),
    ],
    [
      'namespaces',
      MAX_NAMESPACES,
      (i) => ({ kind: 'insertNamespace', namespace: namespace(`ns_${i}`, `name.${i}`) }),
      (engine, i) => limitIn(engine, `new.${i}`),
    ],
  ])('%s: as many are made as may be, and the others are refused', async (_what, most, fillWith, call) => {
    const { storage } = setup();
    await fill(storage, most, fillWith);
    expect(await outcomesOf(nodesOn(storage), call)).toEqual(FULL);
  });

  test('roles and permissions that keys make on the way', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1') });
    await fill(storage, MAX_ROLES, (i) => ({ kind: 'insertRole', role: role(`role_${i}`, `role ${i}`) }));
    const outcomes = await outcomesOf(nodesOn(storage), (engine, i) =>
      engine.keys.create(COMMAND_LINE, {
        apiId: 'api_1',
        prefix: null,
        byteLength: null,
        roles: [{ name: `new ${i}`, create: true }],
      }),
    );
    expect(outcomes).toEqual(FULL);
    expect(await storage.records.countRoles(MAX_ROLES + CALLS)).toBe(MAX_ROLES);
  });

  test.each([
    ['overrides', MAX_OVERRIDES_PER_NAMESPACE, ''],
    ['patterns', MAX_PATTERNS_PER_NAMESPACE, '*'],
  ])('%s of a namespace', async (_what, most, star) => {
    const { storage } = setup();
    await write(storage, { kind: 'insertNamespace', namespace: namespace('ns_1', 'email') });
    // Not as patterns, which raise the revision one by one.
    await fill(storage, most, (i) => ({
      kind: 'insertOverride',
      override: override(`ovr_${i}`, `user_${i}`),
      expectPatterns: 0,
    }));
    const isPattern = star !== '';
    const nodes = nodesOn(storage);
    if (isPattern) {
      // Few enough others, so that the bound of the patterns is the one that is met.
      await fill(storage, most, (i) => ({
        kind: 'insertOverride',
        override: override(`pat_${i}`, `p${i}*`),
        expectPatterns: i,
      }));
    }
    const outcomes = await outcomesOf(nodes, (engine, i) =>
      engine.ratelimits.overrides.set(
        COMMAND_LINE,
        { id: 'ns_1' },
        { identifier: `new_${i}${star}`, limit: 1, durationMs: 60_000, async: true },
      ),
    );
    expect(outcomes).toEqual(FULL);
  });

  test.each<['keys' | 'apis', (engine: Engine, i: number) => Promise<unknown>]>([
    ['apis', (engine, i) => engine.apis.create(COMMAND_LINE, `api ${i}`)],
    ['keys', (engine) => engine.keys.create(COMMAND_LINE, { apiId: 'api_1', prefix: null, byteLength: null })],
    [
      'keys',
      (engine, i) =>
        engine.imports.create(COMMAND_LINE, [
          {
            apiId: 'api_1',
            patch: {},
            secret: { plaintext: `imported-from-elsewhere-${i}` },
            prefix: null,
            start: null,
          },
        ]),
    ],
  ])('the quota of %s', async (what, call) => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1') });
    const most = what === 'apis' ? FREE + 1 : FREE;
    expect(await outcomesOf(nodesOn(storage, { [what]: most }), call)).toEqual(FULL);
    const { records } = storage;
    expect(await (what === 'apis' ? records.countApis(100) : records.countKeys(100))).toBe(most);
  });

  test('keys that an identity may have, its own bound or that of its plan', async () => {
    const { storage } = setup();
    const [own, planned] = [
      identity('id_1', 'own', { maxKeys: FREE }),
      identity('id_2', 'planned', { planId: 'plan_1' }),
    ];
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertPlan', plan: plan('plan_1', 'pro', { maxKeys: FREE }) },
      ...[own, planned].map((each) => ({ kind: 'insertIdentity', identity: each }) as const),
    );
    for (const externalId of ['own', 'planned']) {
      const outcomes = await outcomesOf(nodesOn(storage), (engine) =>
        engine.keys.create(COMMAND_LINE, { apiId: 'api_1', prefix: null, byteLength: null, externalId }),
      );
      expect([externalId, outcomes]).toEqual([externalId, FULL]);
    }
  });

  test('grants of a holder that have not expired', async () => {
    const { storage } = setup();
    const nodes = nodesOn(storage);
    const id = await nodes[0].identities.create(COMMAND_LINE, 'acme', { remaining: 0 });
    const expiresAtMs = storage.ledger.nowMs() + 1_000_000;
    const grant = (engine: Engine, i: string) =>
      engine.credits.grant(
        COMMAND_LINE,
        { id },
        { amount: 1, expiresAtMs, reason: 'paid', idempotencyId: `payment-${i}` },
      );
    for (let i = 0; i < MAX_LIVE_GRANTS - FREE; i++) await grant(nodes[0], `before-${i}`);
    expect(await outcomesOf(nodes, (engine, i) => grant(engine, `new-${i}`))).toEqual(FULL);
    expect((await nodes[0].identities.get(COMMAND_LINE, { id })).remaining).toBe(MAX_LIVE_GRANTS);
  });

  test('keys of a migration that wait', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1') });
    const first = { id: 'imp_1', migrationId: 'mig', apiId: 'api_1', first: 0, keys: '[]', actor: '{}' };
    await write(storage, {
      kind: 'enqueueImport',
      batch: { ...first, count: 1_000_000 - FREE },
      mostWaiting: 1_000_000,
    });
    const outcomes = await outcomesOf(nodesOn(storage), (engine, i) =>
      engine.imports.enqueue(COMMAND_LINE, {
        migrationId: 'mig',
        apiId: 'api_1',
        items: [
          {
            apiId: 'api_1',
            patch: {},
            secret: { plaintext: `imported-from-elsewhere-${i}` },
            prefix: null,
            start: null,
          },
        ],
      }),
    );
    expect(outcomes).toEqual({ done: FREE, refused: ['RATE_LIMITED'] });
    expect((await storage.imports.findProgress('mig'))?.queued).toBe(1_000_000);
  });

  test('former secrets of a key', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1') });
    const nodes = nodesOn(storage);
    const { keyId } = await nodes[0].keys.create(COMMAND_LINE, { apiId: 'api_1', prefix: null, byteLength: null });
    for (let i = 0; i < 10 - FREE; i++) await nodes[0].rotateKey.rotate(COMMAND_LINE, keyId, 1_000_000);
    const outcomes = await outcomesOf(nodes, (engine) => engine.rotateKey.rotate(COMMAND_LINE, keyId, 1_000_000));
    expect(outcomes).toEqual(FULL);
    expect((await storage.records.listFormerSecrets([keyId])).length).toBe(10);
  });

  /** A root key that signs in and makes links for a customer. */
  const withCustomer = async (storage: Storage): Promise<RootKeyRecord> => {
    const own = rootKey('rk_1');
    await write(
      storage,
      { kind: 'insertRootKey', rootKey: own },
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertIdentity', identity: identity('id_1', 'acme') },
    );
    return own;
  };

  test('of the sessions of a root key the newest 50 stay', async () => {
    const { storage } = setup();
    const own = await withCustomer(storage);
    const nodes = nodesOn(storage);
    const made: string[] = [];
    for (let round = 0; round < 4; round++) {
      const outcomes = await outcomesOf(nodes, async ({ sessions }) => {
        made.push((await sessions.admin.signIn(own, ACTOR, { browser: null, by: 'root key', formerSecret: null })).id);
      });
      expect(outcomes).toEqual({ done: CALLS, refused: [] });
      setup().clock.advance(1);
    }
    const live = (await storage.records.listSessions(['rk_1'], storage.ledger.nowMs(), 1_000)).map(({ id }) => id);
    expect(live.length).toBe(50);
    // Those of the last two rounds are all among them.
    expect(live.toSorted()).toEqual(expect.arrayContaining(made.slice(-2 * CALLS)));
  });

  test('of the links of a customer the newest 20 stay', async () => {
    const { storage } = setup();
    await withCustomer(storage);
    const nodes = nodesOn(storage);
    for (let round = 0; round < 4; round++) {
      const outcomes = await outcomesOf(nodes, ({ portal }) => portal.create(ACTOR, { id: 'id_1' }, LINK));
      expect(outcomes).toEqual({ done: CALLS, refused: [] });
      expect((await storage.records.listPortalSessions('id_1', storage.ledger.nowMs())).length).toBe(20);
    }
  });

  test('changes of a customer, over all its sessions', async () => {
    const { storage } = setup();
    await withCustomer(storage);
    const nodes = nodesOn(storage);
    const visits = await Promise.all(
      [0, 1, 2].map(async () => {
        const { url } = await nodes[0].portal.create(ACTOR, { id: 'id_1' }, LINK);
        const token = url.split('#open=')[1] ?? '';
        return (await nodes[0].portal.open(token, null, { origin: null, requestId: 'req_1' })).visit;
      }),
    );
    const change = (engine: Engine, i: number) => engine.portal.countChange(visits[i % 3] as (typeof visits)[number]);
    for (let i = 0; i < 100 - FREE; i++) await change(nodes[0], i);
    expect(await outcomesOf(nodes, change)).toEqual({ done: FREE, refused: ['RATE_LIMITED'] });
  });
});
