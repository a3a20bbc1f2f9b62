import { expect, test, afterEach, describe } from 'bun:test';

import type { KeyRecord } from '../../../../src/model/keys.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { KeyPermissions } from '../../../../src/storage/port/records.ts';
import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, found, key, permission, role, write } from '../samples.ts';
import type { PermissionQuery } from '../../../../src/core/permissions.ts';
import { COMMAND_LINE } from '../../../../src/engine/admin/change/requireRight.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { engineOn } from '../engineOn.ts';
import type { OpenedStorage } from '../openAdapter.ts';
import { PostgresInDatabase } from '../postgres.ts';

const READ = permission('perm_1', 'documents.read', { name: 'Read documents' });
const WRITE = permission('perm_2', 'documents.write', { name: 'A: write documents' });
const PAY = permission('perm_3', 'billing.pay');
const EDITOR = role('role_1', 'editor', { permissionIds: ['perm_1', 'perm_2'] });
const CLERK = role('role_2', 'clerk', { permissionIds: ['perm_3', 'perm_1'] });
/** As nothing here would write it. */
const BROKEN = { ...EDITOR, permissionIds: [5] as never, revision: 2 };

async function fill(storage: Storage, fields: Partial<KeyRecord>): Promise<KeyRecord> {
  const made = key('key_1', fields);
  await write(
    storage,
    ...[READ, WRITE, PAY].map((each) => ({ kind: 'insertPermission' as const, permission: each })),
    ...[EDITOR, CLERK].map((each) => ({ kind: 'insertRole' as const, role: each })),
    { kind: 'insertKey', key: made },
    { kind: 'insertKey', key: key('key_2') },
  );
  return made;
}

/** What a key is granted, by the slugs alone. */
function bySlugs<T extends object>({ grants, ...others }: T & Pick<KeyPermissions, 'grants'>) {
  return { ...others, slugs: grants.map(({ slug }) => slug) };
}

/** The same in every way in which a key can be found. */
async function permissionsOf(storage: Storage) {
  const { records } = storage;
  const [byDigest] = await records.findKeysByDigest(['digest of key_1']);
  const ways = [
    byDigest,
    await records.findKey('key_1'),
    await records.findAnyKey('key_1'),
    (await records.listKeys(EVERY_KEY)).items[0],
  ].map((each) => (each != null && 'key' in each ? each.permissions : undefined));
  for (const way of ways) expect(way).toEqual(ways[0]);
  return ways[0] == null ? null : bySlugs(ways[0]);
}

const named = ({ id, name }: { id: string; name: string }) => ({ id, name });
const whole = ({ id, name, slug }: typeof READ) => ({ id, name, slug });

describePort('what a key may do', (setup) => {
  test('direct permissions and those of its roles, each slug once, in the order of names and slugs', async () => {
    const fields = { permissionIds: ['perm_1', 'perm_2'], roleIds: ['role_1', 'role_2'] };
    const made = await fill(setup().storage, fields);
    const permissions = {
      roles: [named(CLERK), named(EDITOR)],
      direct: [whole(WRITE), whole(READ)],
      slugs: ['billing.pay', 'documents.read', 'documents.write'],
    };
    expect(await permissionsOf(setup().storage)).toEqual(permissions);
    await setup().reopen();
    expect(await permissionsOf(setup().storage)).toEqual(permissions);
    const grants = [
      { slug: 'billing.pay', permissionId: 'perm_3', role: { id: 'role_2', revision: 1 } },
      { slug: 'documents.read', permissionId: 'perm_1', role: null },
      { slug: 'documents.write', permissionId: 'perm_2', role: null },
    ];
    const { roles, direct } = permissions;
    expect(await setup().storage.records.findKey('key_1')).toEqual(
      found(made, { permissions: { roles, direct, grants } }),
    );
  });

  test('a key without roles and permissions has none, beside one that has', async () => {
    const { storage } = setup();
    await fill(storage, { roleIds: ['role_1'] });
    expect(await storage.records.findKeysByDigest(['digest of key_2', 'digest of key_1'])).toMatchObject([
      { permissions: null },
      {
        permissions: {
          roles: [named(EDITOR)],
          direct: [],
          grants: [{ slug: 'documents.read' }, { slug: 'documents.write' }],
        },
      },
    ]);
  });

  test('a role without permissions is a role all the same', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertRole', role: role('role_1', 'empty') },
      { kind: 'insertKey', key: key('key_1', { roleIds: ['role_1'] }) },
    );
    expect(await permissionsOf(storage)).toEqual({ roles: [{ id: 'role_1', name: 'empty' }], direct: [], slugs: [] });
  });

  test('a deleted permission is gone from keys and from roles, though their records still name it', async () => {
    const { storage } = setup();
    await fill(storage, { permissionIds: ['perm_1', 'perm_3'], roleIds: ['role_1'] });
    await write(storage, { kind: 'removePermission', permissionId: 'perm_1' });
    expect(await permissionsOf(storage)).toEqual({
      roles: [named(EDITOR)],
      direct: [whole(PAY)],
      slugs: ['billing.pay', 'documents.write'],
    });
    expect((await write(storage, { kind: 'removePermission', permissionId: 'perm_1' })).status).toBe('stale');
  });

  test('a deleted role takes its permissions along; with nothing left there are none', async () => {
    const { storage } = setup();
    const made = await fill(storage, { roleIds: ['role_1'] });
    expect((await write(storage, { kind: 'removeRole', roleId: 'role_1', expect: 0 })).status).toBe('stale');
    expect((await write(storage, { kind: 'removeRole', roleId: 'role_1', expect: 1 })).status).toBe('done');
    expect(await permissionsOf(storage)).toBeNull();
    expect(await storage.records.findKey('key_1')).toEqual(found(made));
  });

  test('a changed role is seen by the next read; a change from another revision is stale', async () => {
    const { storage } = setup();
    await fill(storage, { roleIds: ['role_1'] });
    const after = { ...EDITOR, name: 'chief', permissionIds: ['perm_3'], revision: 2 };
    expect((await write(storage, { kind: 'updateRole', role: after, expect: 2 })).status).toBe('stale');
    expect((await write(storage, { kind: 'updateRole', role: after, expect: 1 })).status).toBe('done');
    expect(await permissionsOf(storage)).toEqual({
      roles: [{ id: 'role_1', name: 'chief' }],
      direct: [],
      slugs: ['billing.pay'],
    });
  });

  test('a key that is left behind is listed with its permissions', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertApi', api: api('api_1', { generation: 1 }) });
    await fill(storage, { permissionIds: ['perm_1'] });
    expect(await storage.records.listKeysLeftBehind('api_1', 1)).toMatchObject([
      { permissions: { direct: [whole(READ)], grants: [{ slug: 'documents.read' }] } },
    ]);
  });

  test('a thousand permissions of one key are all found', async () => {
    const { storage } = setup();
    const all = Array.from({ length: 1000 }, (_, i) => permission(`perm_${i}`, `p${String(i).padStart(4, '0')}`));
    await write(storage, ...all.map((each) => ({ kind: 'insertPermission' as const, permission: each })));
    const permissionIds = all.map(({ id }) => id).toReversed();
    await write(storage, { kind: 'insertKey', key: key('key_1', { permissionIds }) });
    const permissions = await permissionsOf(storage);
    expect(permissions?.slugs).toEqual(all.map(({ slug }) => slug));
    expect(permissions?.direct).toEqual(all.map(whole));
  });

  test('a stored role that cannot be read stands apart from the others, with the reason, for its own keys alone', async () => {
    const { storage } = setup();
    await fill(storage, { roleIds: ['role_1', 'role_2'] });
    await write(storage, { kind: 'updateRole', role: BROKEN, expect: 1 });
    expect(await permissionsOf(storage)).toEqual({
      roles: [named(CLERK)],
      direct: [],
      slugs: ['billing.pay', 'documents.read'],
      broken: [{ ...named(EDITOR), reason: 'permissions cannot be read' }],
    });
    expect(await storage.records.findKeysByDigest(['digest of key_2'])).toEqual([found(key('key_2'))]);
  });

  test('a key that has nothing but a role that cannot be read is not one without roles', async () => {
    const { storage } = setup();
    await fill(storage, { roleIds: ['role_1'] });
    await write(storage, { kind: 'updateRole', role: BROKEN, expect: 1 });
    expect(await permissionsOf(storage)).toMatchObject({ roles: [], direct: [], slugs: [], broken: [named(EDITOR)] });
  });
});

describePort('permissions and roles', (setup) => {
  test('are listed by their names, exactly as they were written', async () => {
    await fill(setup().storage, {});
    const described = permission('perm_9', 'b', { description: 'köy ✓' });
    await write(setup().storage, { kind: 'insertPermission', permission: described });
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.listPermissions()).toEqual([WRITE, READ, described, PAY]);
    expect(await records.listRoles()).toEqual([CLERK, EDITOR]);
  });

  test('names and slugs are unique: the second of a name is stale and changes nothing', async () => {
    const { storage } = setup();
    await fill(storage, {});
    for (const second of [
      { kind: 'insertPermission', permission: permission('perm_1', 'other') },
      { kind: 'insertPermission', permission: permission('perm_9', 'other', { name: READ.name }) },
      { kind: 'insertPermission', permission: permission('perm_9', READ.slug, { name: 'other' }) },
      { kind: 'insertRole', role: role('role_1', 'other') },
      { kind: 'insertRole', role: role('role_9', 'editor') },
      { kind: 'updateRole', role: role('role_1', 'clerk', { revision: 2 }), expect: 1 },
    ] as const) {
      expect([second, (await write(storage, second)).status]).toEqual([second, 'stale'] as never);
    }
    expect((await storage.records.listPermissions()).length).toBe(3);
    expect(await storage.records.listRoles()).toEqual([CLERK, EDITOR]);
  });

  test('are found by id, by name and, permissions, by slug: each once, and no others', async () => {
    const { storage } = setup();
    await fill(storage, {});
    const { records } = storage;
    const ids = async (query: { ids?: string[]; names?: string[] }, kind: 'findPermissions' | 'findRoles') =>
      (await records[kind]({ ids: [], names: [], ...query })).map(({ id }) => id).toSorted();
    expect(await ids({}, 'findPermissions')).toEqual([]);
    expect(await ids({ ids: ['perm_1', 'none', 'perm_1'] }, 'findPermissions')).toEqual(['perm_1']);
    expect(await ids({ names: ['Read documents', 'documents.read', ''] }, 'findPermissions')).toEqual(['perm_1']);
    expect(await ids({ names: ['documents.write', 'perm_3'] }, 'findPermissions')).toEqual(['perm_2']);
    expect(await ids({ ids: ['perm_3'], names: ['billing.pay', WRITE.name] }, 'findPermissions')).toEqual([
      'perm_2',
      'perm_3',
    ]);
    expect(await records.findPermissions({ ids: [], names: [READ.slug] })).toEqual([READ]);
    expect(await ids({}, 'findRoles')).toEqual([]);
    expect(await ids({ ids: ['role_2', 'editor'], names: ['clerk', 'role_1'] }, 'findRoles')).toEqual(['role_2']);
    expect(await records.findRoles({ ids: [], names: ['editor'] })).toEqual([{ ...EDITOR, broken: null }]);
  });

  test('are found by more names than one statement takes', async () => {
    const { storage } = setup();
    const all = Array.from({ length: 1201 }, (_, i) => permission(`perm_${i}`, `p${i}`, { name: `name ${i}` }));
    await write(storage, ...all.map((each) => ({ kind: 'insertPermission' as const, permission: each })));
    const names = all.flatMap(({ name, slug }, i) => (i === 7 ? [] : [name, slug]));
    const rows = await storage.records.findPermissions({ ids: all.slice(600).map(({ id }) => id), names });
    expect(new Set(rows)).toEqual(new Set(all.filter((_, i) => i !== 7)));
    expect(rows).toHaveLength(1200);
  });

  test('a role that cannot be read is found by its name, as one without permissions', async () => {
    const { storage } = setup();
    await fill(storage, {});
    await write(storage, { kind: 'updateRole', role: BROKEN, expect: 1 });
    expect(await storage.records.findRoles({ ids: [], names: ['editor', 'clerk'] })).toEqual(
      expect.arrayContaining([
        { ...BROKEN, permissionIds: [], broken: 'permissions cannot be read' },
        { ...CLERK, broken: null },
      ]),
    );
    expect(await storage.records.listRoles()).toEqual([CLERK]);
  });

  test('are counted, no further than asked', async () => {
    const { storage } = setup();
    await fill(storage, {});
    const { records } = storage;
    expect([await records.countPermissions(2), await records.countPermissions(9)]).toEqual([2, 3]);
    expect([await records.countRoles(1), await records.countRoles(9)]).toEqual([1, 2]);
  });
});

describe('permissions of nodes', () => {
  async function makeKey(engine: Engine): Promise<{ keyId: string; secret: string }> {
    const made = await engine.apis.create(COMMAND_LINE, 'test api');
    return engine.keys.create(COMMAND_LINE, { apiId: made.id, prefix: null, byteLength: null, remaining: 100 });
  }

  async function codeOf(engine: Engine, secretDigest: string, permissions: PermissionQuery): Promise<string> {
    const verdict = await engine.verifier.verify({
      secretDigest,
      olderDigests: null,
      apiId: null,
      creditCost: 1,
      limits: null,
      permissions,
      tags: null,
      caller: { address: () => null },
      idempotency: null,
      mayVerify: null,
      reservation: null,
      isExplained: false,
    });
    return verdict.code;
  }

  const NAMES = Array.from({ length: 20 }, (_, i) => `p${String(i).padStart(2, '0')}`);

  const add = (engine: Engine, keyId: string, name: string) =>
    engine.keyGrants.add(COMMAND_LINE, { kind: 'permissions', keyId, references: [{ name, create: true }] });

  const namesHeld = async (engine: Engine, keyId: string): Promise<string[]> =>
    (await engine.keyGrants.add(COMMAND_LINE, { kind: 'permissions', keyId, references: [] })).map(({ name }) => name);

  describePort('permissions and roles', (setup) => {
    test('adds at the same time lose nothing, and counters go on', async () => {
      const engine = engineOn(setup().storage);
      const { keyId, secret } = await makeKey(engine);
      await Promise.all(NAMES.map((name) => add(engine, keyId, name)));
      expect(await namesHeld(engine, keyId)).toEqual(NAMES);
      expect(await codeOf(engine, secret, { and: NAMES })).toBe('VALID');
      expect((await engine.keys.get(COMMAND_LINE, keyId)).remaining).toBe(99);
    });

    test('of one name made many times at the same moment one is made', async () => {
      const engine = engineOn(setup().storage);
      const fields = { name: 'one', slug: 'one', description: null };
      const made = await Promise.allSettled(NAMES.map(() => engine.permissions.createPermission(COMMAND_LINE, fields)));
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const codes = made.flatMap((each) => (each.status === 'rejected' ? (each.reason as { code: string }).code : []));
      expect(new Set(codes)).toEqual(new Set(['CONFLICT']));
    });

    test('what a role holds, and its end, are seen by the next verification', async () => {
      const engine = engineOn(setup().storage);
      const { keyId, secret } = await makeKey(engine);
      const id = await engine.permissions.createRole(COMMAND_LINE, { name: 'editor', description: null });
      await engine.keyGrants.set(COMMAND_LINE, { kind: 'roles', keyId, references: [{ id }] });
      expect(await codeOf(engine, secret, 'd.read')).toBe('INSUFFICIENT_PERMISSIONS');
      const references = [{ name: 'd.*', create: true }];
      await engine.permissions.setRolePermissions(COMMAND_LINE, { name: 'editor' }, references);
      expect(await codeOf(engine, secret, 'd.read')).toBe('VALID');
      await engine.permissions.deleteRole(COMMAND_LINE, id);
      expect(await codeOf(engine, secret, 'd.read')).toBe('INSUFFICIENT_PERMISSIONS');
    });
  });

  const opened: OpenedStorage[] = [];

  afterEach(async () => {
    for (const each of opened.splice(0).toReversed()) await each.close();
  });

  test('two nodes give one key permissions at the same time, and each sees what the other took away', async () => {
    const first = await PostgresInDatabase.start(new VirtualClock('2026-03-15T12:00:00Z'));
    opened.push(first);
    const second = await first.afterCrash();
    opened.push(second);
    const [one, two] = [engineOn(first.storage), engineOn(second.storage)];
    const { keyId, secret } = await makeKey(one);
    await Promise.all(NAMES.map((name, i) => add(i % 2 === 0 ? one : two, keyId, name)));
    for (const engine of [one, two]) {
      expect(await namesHeld(engine, keyId)).toEqual(NAMES);
      expect(await codeOf(engine, secret, { and: NAMES })).toBe('VALID');
    }
    const [gone] = await one.permissions.listPermissions(COMMAND_LINE);
    await one.permissions.deletePermission(COMMAND_LINE, gone?.id ?? '');
    expect(await codeOf(one, secret, 'p00')).toBe('INSUFFICIENT_PERMISSIONS');
    await second.storage.freshness.confirm();
    expect(await codeOf(two, secret, 'p00')).toBe('INSUFFICIENT_PERMISSIONS');
    expect(await codeOf(two, secret, 'p01')).toBe('VALID');
  }, 60_000);
});
