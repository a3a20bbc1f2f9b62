import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { and, or, Unkey } from '@unkey/api';

import { allMethods, called, connect, ENGINES, ok, type Running } from './clientLibrary.ts';

describe.each(Object.entries(ENGINES))('@unkey/api 0.38.0 on %s', (_engine, start) => {
  let running: Running;
  let unkey: Unkey;
  let apiId = '';

  beforeAll(async () => {
    running = await start();
    unkey = connect(running);
    apiId = ok(await unkey.apis.create({ name: 'client library' })).apiId;
  }, 60_000);

  afterAll(() => running.stop(), 60_000);

  const createKey = async (fields: Omit<Parameters<Unkey['keys']['create']>[0], 'apiId'> = {}) =>
    ok(await unkey.keys.create({ apiId, ...fields }));

  test('apis: create, get, list keys, delete', async () => {
    const made = ok(await unkey.apis.create({ name: 'short lived' }));
    const shown = ok(await unkey.apis.get({ apiId: made.apiId }));
    expect([shown.id, shown.name, typeof shown.workspaceId]).toEqual([made.apiId, 'short lived', 'string']);
    const keys = [];
    for (let i = 0; i < 3; i++) {
      keys.push(ok(await unkey.keys.create({ apiId: made.apiId, ...(i < 2 ? { externalId: 'owner' } : {}) })).keyId);
    }
    const first = ok(await unkey.apis.listKeys({ apiId: made.apiId, limit: 2 }));
    expect([first.keys.length, first.total]).toEqual([2, 3]);
    const second = ok(await unkey.apis.listKeys({ apiId: made.apiId, limit: 2, cursor: first.cursor ?? '' }));
    expect([...first.keys, ...second.keys].map(({ id }) => id).toSorted()).toEqual(keys.toSorted());
    expect(second.cursor).toBeUndefined();
    expect(ok(await unkey.apis.listKeys({ apiId: made.apiId, ownerId: 'owner', decrypt: null })).total).toBe(2);
    expect(ok(await unkey.apis.delete({ apiId: made.apiId }))).toEqual({});
    expect((await unkey.apis.get({ apiId: made.apiId })).error?.code).toBe('NOT_FOUND');
  });

  test('keys: create, get, verify, update, updateRemaining, delete', async () => {
    const { key, keyId } = await createKey({
      prefix: 'lib',
      name: 'from the library',
      byteLength: 20,
      externalId: 'user_1234',
      meta: { plan: 'pro', nested: { a: [1, 2] } },
      remaining: 100,
      refill: { interval: 'monthly', amount: 100, refillDay: 15 },
      ratelimit: { async: true, limit: 50, duration: 60_000 },
      enabled: true,
      recoverable: false,
      environment: 'test',
    });
    expect(key).toStartWith('lib_');
    const shown = ok(await unkey.keys.get({ keyId }));
    expect(shown).toMatchObject({
      id: keyId,
      apiId,
      name: 'from the library',
      ownerId: 'user_1234',
      meta: { plan: 'pro', nested: { a: [1, 2] } },
      remaining: 100,
      refill: { interval: 'monthly', amount: 100, refillDay: 15 },
      ratelimit: { async: true, limit: 50, duration: 60_000, refillRate: 50, refillInterval: 60_000 },
      roles: [],
      permissions: [],
      enabled: true,
      identity: { externalId: 'user_1234' },
    });
    expect(shown.start.startsWith('lib_') && key.startsWith(shown.start)).toBe(true);
    const verdict = ok(await unkey.keys.verify({ apiId, key, tags: ['path=/v1', 'plan=pro'], remaining: { cost: 3 } }));
    expect(verdict).toMatchObject({
      valid: true,
      code: 'VALID',
      keyId,
      ownerId: 'user_1234',
      environment: 'test',
      remaining: 97,
      ratelimit: { limit: 50, remaining: 49 },
      permissions: [],
      roles: [],
      identity: { externalId: 'user_1234', meta: {} },
    });
    expect(ok(await unkey.keys.verify({ key: 'lib_unknown' }))).toMatchObject({ valid: false, code: 'NOT_FOUND' });
    expect(ok(await unkey.keys.updateRemaining({ keyId, op: 'increment', value: 3 }))).toEqual({ remaining: 100 });
    expect(ok(await unkey.keys.updateRemaining({ keyId, op: 'decrement', value: 99 }))).toEqual({ remaining: 1 });
    expect(ok(await unkey.keys.update({ keyId, name: null, refill: null, ratelimit: null, ownerId: null }))).toEqual(
      {},
    );
    const changed = ok(await unkey.keys.get({ keyId }));
    expect([changed.name, changed.refill, changed.ratelimit, changed.ownerId, changed.remaining]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      1,
    ]);
    expect(ok(await unkey.keys.verify({ key }))).toMatchObject({ valid: true, remaining: 0 });
    expect(ok(await unkey.keys.verify({ key }))).toMatchObject({ valid: false, code: 'USAGE_EXCEEDED', remaining: 0 });
    expect(ok(await unkey.keys.updateRemaining({ keyId, op: 'set', value: null }))).toEqual({ remaining: null });
    expect(ok(await unkey.keys.update({ keyId, enabled: false }))).toEqual({});
    expect(ok(await unkey.keys.verify({ key }))).toMatchObject({ valid: false, code: 'DISABLED' });
    expect(ok(await unkey.keys.delete({ keyId }))).toEqual({});
    expect(ok(await unkey.keys.verify({ key }))).toMatchObject({ valid: false, code: 'NOT_FOUND' });
    expect((await unkey.keys.get({ keyId })).error?.code).toBe('NOT_FOUND');
  });

  test('the older names of limits still work', async () => {
    const { key } = await createKey({
      ratelimit: { type: 'consistent', limit: 2, refillRate: 2, refillInterval: 3_600_000 },
    });
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push(ok(await unkey.keys.verify({ key })).code);
    expect(codes).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
  });

  test('permissions and roles: create, get, list, on keys, in queries, delete', async () => {
    const { permissionId } = ok(
      await unkey.permissions.createPermission({ name: 'Read', slug: 'documents.read', description: '' }),
    );
    expect(ok(await unkey.permissions.getPermission({ permissionId }))).toEqual({
      id: permissionId,
      name: 'Read',
      slug: 'documents.read',
    });
    expect((await unkey.permissions.createPermission({ name: 'Read' })).error?.code).toBe('CONFLICT');
    const { roleId } = ok(await unkey.permissions.createRole({ name: 'editor', description: 'may edit' }));
    expect(ok(await unkey.permissions.getRole({ roleId }))).toMatchObject({
      id: roleId,
      name: 'editor',
      description: 'may edit',
    });
    expect(ok(await unkey.permissions.listPermissions()).map(({ id }) => id)).toContain(permissionId);
    expect(ok(await unkey.permissions.listRoles()).map(({ id }) => id)).toContain(roleId);

    const { key, keyId } = await createKey({ roles: ['viewer'], permissions: ['billing.read'] });
    const added = ok(
      await unkey.keys.addPermissions({
        keyId,
        permissions: [{ id: permissionId }, { name: 'documents.write', create: true }],
      }),
    );
    expect(added.map(({ name }) => name).toSorted()).toEqual(['Read', 'billing.read', 'documents.write']);
    expect(
      ok(await unkey.keys.addRoles({ keyId, roles: [{ id: roleId }] }))
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['editor', 'viewer']);
    const ask = async (permissions: ReturnType<typeof and> | string) =>
      ok(await unkey.keys.verify({ key, authorization: { permissions } })).code;
    expect(await ask(and('documents.read', or('documents.write', 'nothing')))).toBe('VALID');
    expect(await ask(and('documents.read', 'nothing'))).toBe('INSUFFICIENT_PERMISSIONS');
    expect(await ask('billing.read')).toBe('VALID');

    expect(ok(await unkey.keys.removePermissions({ keyId, permissions: [{ slug: 'documents.read' }] }))).toEqual({});
    expect(await ask('documents.read')).toBe('INSUFFICIENT_PERMISSIONS');
    expect(
      ok(await unkey.keys.setPermissions({ keyId, permissions: [{ id: permissionId }] })).map(({ name }) => name),
    ).toEqual(['Read']);
    expect(ok(await unkey.keys.removeRoles({ keyId, roles: [{ name: 'viewer' }] }))).toEqual({});
    expect(
      ok(await unkey.keys.setRoles({ keyId, roles: [{ name: 'admin', create: true }] })).map(({ name }) => name),
    ).toEqual(['admin']);
    const shown = ok(await unkey.keys.get({ keyId }));
    expect([shown.roles, shown.permissions]).toEqual([['admin'], ['documents.read']]);
    expect(ok(await unkey.keys.update({ keyId, roles: [{ id: roleId }], permissions: [] }))).toEqual({});
    expect(ok(await unkey.permissions.deletePermission({ permissionId }))).toEqual({});
    expect(ok(await unkey.permissions.deleteRole({ roleId }))).toEqual({});
    expect((await unkey.permissions.getPermission({ permissionId })).error?.code).toBe('NOT_FOUND');
    expect((await unkey.permissions.getRole({ roleId })).error?.code).toBe('NOT_FOUND');
    expect(ok(await unkey.keys.verify({ key }))).toMatchObject({ permissions: [], roles: [] });
  });

  test('identities: create, get, list, update, delete, and their limits in a verification', async () => {
    const ratelimits = [{ name: 'requests', limit: 2, duration: 3_600_000 }];
    const { identityId } = ok(await unkey.identities.create({ externalId: 'org_77', meta: { seats: 3 }, ratelimits }));
    const shown = { id: identityId, externalId: 'org_77', meta: { seats: 3 } };
    expect(ok(await unkey.identities.get({ identityId }))).toMatchObject({ ...shown, ratelimits });
    expect(ok(await unkey.identities.get({ externalId: 'org_77' }))).toMatchObject(shown);
    const { key, keyId } = await createKey({ externalId: 'org_77' });
    const ask = async () => ok(await unkey.keys.verify({ key, ratelimits: [{ name: 'requests', cost: 1 }] })).code;
    expect([await ask(), await ask(), await ask()]).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
    const { identities } = ok(await unkey.identities.list({ limit: 100, environment: 'any' }));
    expect(identities.map(({ id }) => id)).toContain(identityId);
    const updated = ok(await unkey.identities.update({ identityId, environment: 'any', meta: {}, ratelimits: [] }));
    expect(updated).toMatchObject({ ...shown, meta: {}, ratelimits: [] });
    ok(await unkey.keys.delete({ keyId }));
    expect(ok(await unkey.identities.delete({ identityId }))).toEqual({});
    expect((await unkey.identities.get({ identityId })).error?.code).toBe('NOT_FOUND');
  });

  test('ratelimits: limit and overrides', async () => {
    const ask = async (identifier: string, async = false) =>
      ok(
        await unkey.ratelimits.limit({
          namespace: 'email',
          identifier,
          limit: 2,
          duration: 3_600_000,
          cost: 1,
          async,
          meta: {},
        }),
      );
    expect(await ask('ann')).toMatchObject({ success: true, limit: 2, remaining: 1 });
    expect((await ask('ann')).reset).toBeGreaterThan(0);
    expect(await ask('ann')).toMatchObject({ success: false, limit: 2, remaining: 0 });
    expect(await ask('fast', true)).toMatchObject({ success: true, remaining: 1 });
    const override = { namespaceName: 'email', identifier: '*@big.test', limit: 100, duration: 60_000 };
    const set = ok(await unkey.ratelimits.setOverride({ ...override, async: false }));
    // The types of the library do not include the id of the namespace.
    const { overrideId, namespaceId } = set as typeof set & { namespaceId: string };
    expect(namespaceId).toMatch(/^ns_/);
    expect(await ask('bob@big.test')).toMatchObject({ success: true, limit: 100, remaining: 99 });
    const named = { namespaceName: 'email', identifier: '*@big.test' };
    const { namespaceName: _name, ...rest } = override;
    const stored = { id: overrideId, namespaceId, ...rest, async: false };
    expect(ok(await unkey.ratelimits.getOverride(named))).toEqual(stored);
    const listed: object = ok(await unkey.ratelimits.listOverrides({ namespaceName: 'email' }));
    expect(listed).toEqual({ namespaceId, overrides: [stored], total: 1 });
    expect(ok(await unkey.ratelimits.deleteOverride(named))).toEqual({});
    expect((await unkey.ratelimits.getOverride(named)).error?.code).toBe('NOT_FOUND');
  });

  test('migrations: create keys from hashes and plaintexts, and enqueue them', async () => {
    const [hashed, plain, queued] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const value = Bun.SHA256.hash(hashed, 'base64');
    const { keyIds } = ok(
      await unkey.migrations.createKeys([
        { apiId, hash: { value, variant: 'sha256_base64' }, start: 'hash_', name: 'hashed', remaining: 2 },
        {
          apiId,
          plaintext: plain,
          ratelimit: { limit: 10, refillRate: 10, refillInterval: 60_000 },
          meta: { from: 'elsewhere' },
        },
      ]),
    );
    expect(keyIds).toHaveLength(2);
    expect(ok(await unkey.keys.verify({ key: hashed }))).toMatchObject({ valid: true, name: 'hashed', remaining: 1 });
    expect(ok(await unkey.keys.verify({ key: plain }))).toMatchObject({ valid: true, meta: { from: 'elsewhere' } });
    const again = await unkey.migrations.createKeys([{ apiId, plaintext: plain }]);
    expect(again.error?.code).toBe('CONFLICT');
    const keys = [{ plaintext: queued, name: 'queued' }];
    expect(ok(await unkey.migrations.enqueueKeys({ migrationId: 'move-1', apiId, keys }))).toEqual({});
    for (;;) {
      const verdict = ok(await unkey.keys.verify({ key: queued }));
      if (!verdict.valid) continue;
      expect(verdict.name).toBe('queued');
      break;
    }
  }, 30_000);

  test('analytics: verifications are counted by key and by api', async () => {
    const { key, keyId } = await createKey({ externalId: 'counted', remaining: 2 });
    // The last verification is refused and counts under the tags of a valid one.
    for (const i of [0, 1, 0]) await unkey.keys.verify({ key, tags: ['a', `i=${i}`] });
    const { verifications } = ok(await unkey.keys.getVerifications({ keyId, granularity: 'day' }));
    expect(verifications.at(-1)).toMatchObject({ success: 2, rateLimited: 0, usageExceeded: 1 });
    const byKey = ok(await unkey.analytics.getVerifications({ apiId, keyId, groupBy: 'key' }));
    expect(byKey).toMatchObject([{ keyId, valid: 2, usageExceeded: 1, total: 3 }]);
    const byTag = ok(
      await unkey.analytics.getVerifications({
        apiId,
        keyId: [keyId],
        tag: ['a', 'i=0'],
        groupBy: ['tag'],
        orderBy: 'total',
        order: 'desc',
        limit: 10,
      }),
    );
    expect(byTag.map(({ tag, total }) => [tag, total])).toEqual([
      ['a', 3],
      ['i=0', 2],
    ]);
    const byIdentity = ok(
      await unkey.analytics.getVerifications({ apiId, externalId: 'counted', groupBy: ['identity', 'day'] }),
    );
    expect(byIdentity.at(-1)).toMatchObject({ identity: { externalId: 'counted' }, total: 3 });
  });

  test('errors are values with a code, a message and a link, never exceptions', async () => {
    const stranger = new Unkey({ rootKey: 'root_wrong', baseUrl: `${running.url}/`, retry: { attempts: 0 } });
    const { error } = await stranger.apis.get({ apiId });
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'This root key is unknown. Check that it is complete, and that it is one of this service.',
    });
    expect(error?.docs).toEndWith('/docs/errors#UNAUTHORIZED');
    expect(error?.requestId).toStartWith('req_');
    const wrong = await unkey.keys.create({ apiId, remaining: -1 });
    expect(wrong.error?.code).toBe('BAD_REQUEST');
    // Verifying needs no root key, so a wrong one is ignored.
    expect(ok(await stranger.keys.verify({ key: 'x' })).code).toBe('NOT_FOUND');
  });

  test('every method of the library was called', () => {
    expect([...called].toSorted()).toEqual(allMethods(unkey).toSorted());
  });
});
