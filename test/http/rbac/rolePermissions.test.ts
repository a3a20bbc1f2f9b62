import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { refusedBy, rootKeyWith } from '../errors/refusal.ts';
import { storedIn } from '../errors/stored.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const ABSENT = 'role_1Jm8Zta6oTt8JmM2wVz5Ux';

async function create(fields: Record<string, unknown>): Promise<string> {
  return (await service.ok('/v1/permissions.createRole', fields)).roleId as string;
}

async function createPermission(name: string, slug = name): Promise<string> {
  return (await service.ok('/v1/permissions.createPermission', { name, slug })).permissionId as string;
}

const get = (roleId: string) => service.ok('/v1/permissions.getRole', { roleId });
const setPermissions = (role: object, permissions: readonly object[], options = {}) =>
  service.ok('/v1/permissions.setRolePermissions', { ...role, permissions }, options);

describe('setRolePermissions', () => {
  test('sets all of them, by id, name or slug, and answers them in the order of the names', async () => {
    const roleId = await create({ name: 'editor' });
    const [read, write] = [await createPermission('Read', 'd.read'), await createPermission('Write', 'd.write')];
    const last = await createPermission('Zap', 'zap');
    const all = [
      { id: read, name: 'Read' },
      { id: write, name: 'Write' },
      { id: last, name: 'Zap' },
    ];
    const references = [{ name: 'Zap' }, { slug: 'd.write' }, { id: read }, { name: 'd.read' }];
    expect(await setPermissions({ roleId }, references)).toEqual(all);
    expect(await setPermissions({ name: 'editor' }, [{ id: write }])).toEqual(all.slice(1, 2));
    const { key } = await service.createKey({ roles: ['editor'] });
    expect((await service.verify(key)).permissions).toEqual(['d.write']);
    expect(await get(roleId)).toEqual({ id: roleId, name: 'editor', permissions: all.slice(1, 2) });
    expect(await setPermissions({ roleId }, [])).toEqual([]);
    expect(await get(roleId)).toEqual({ id: roleId, name: 'editor', permissions: [] });
  });

  test('the next verification of a key that is known already sees it', async () => {
    const roleId = await create({ name: 'editor' });
    await createPermission('d.read');
    const { key } = await service.createKey({ roles: ['editor'], remaining: 100 });
    const ask = { authorization: { permissions: 'd.read' } };
    const codes: string[] = [];
    for (let i = 0; i < 3; i++) {
      codes.push((await service.verify(key, ask)).code);
      await setPermissions({ roleId }, [{ name: 'd.read' }]);
      codes.push((await service.verify(key, ask)).code);
      await setPermissions({ roleId }, []);
    }
    const round = ['INSUFFICIENT_PERMISSIONS', 'VALID'];
    expect(codes).toEqual([...round, ...round, ...round]);
  });

  test('create makes what does not exist, with the right to', async () => {
    const roleId = await create({ name: 'editor' });
    const rights = ['rbac.*.add_permission_to_role', 'rbac.*.remove_permission_from_role'];
    const permissions = [{ name: 'new', create: true }];
    const without = { rootKey: await rootKeyWith(service, ...rights) };
    expect(await refusedBy(service, '/v1/permissions.setRolePermissions', { roleId, permissions }, without)).toEqual({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
      message: 'This root key lacks the right rbac.*.create_permission.',
    });
    const rootKey = await rootKeyWith(service, ...rights, 'rbac.*.create_permission');
    const [made] = await setPermissions({ roleId }, permissions, { rootKey });
    expect(made.name).toBe('new');
    expect(await service.ok('/v1/permissions.getPermission', { permissionId: made.id })).toEqual({
      ...made,
      slug: 'new',
    });
    expect(await setPermissions({ roleId }, permissions, without)).toEqual([made]);
  });

  test('deleted permissions are not in the way: they are gone from the role, and from what is stored next', async () => {
    const roleId = await create({ name: 'editor' });
    const [a, b] = [await createPermission('a'), await createPermission('b')];
    await setPermissions({ roleId }, [{ id: a }, { id: b }]);
    await service.ok('/v1/permissions.deletePermission', { permissionId: a });
    await createPermission('a');
    await setPermissions({ roleId }, [{ name: 'a' }, { id: b }]);
    const [role] = storedIn(service.folder)['roles'] as { permissions: string }[];
    expect(role?.permissions).not.toContain(a);
    expect(role?.permissions).toContain(b);
  });

  test.each([
    ['no role', { permissions: [] }, [{ path: 'roleId', message: 'give roleId or the name of the role' }]],
    [
      'a role twice',
      { roleId: ABSENT, name: 'a', permissions: [] },
      [{ path: 'name', message: 'give either roleId or name, not both' }],
    ],
    [
      'a reference without id and name, and no role',
      { permissions: [{ name: 'a' }, {}] },
      [
        { path: 'roleId', message: 'give roleId or the name of the role' },
        { path: 'permissions[1]', message: 'permissions[1] needs an id or a name' },
      ],
    ],
    ['no permissions', { roleId: ABSENT }, [{ path: 'permissions', message: 'permissions is missing' }]],
  ])('%s is a 400 that says so', async (_what, body, issues) => {
    const answer = await refusedBy(service, '/v1/permissions.setRolePermissions', body);
    expect(answer).toMatchObject({ status: 400, code: 'BAD_REQUEST', issues });
  });

  test('1,001 permissions are a 400', async () => {
    const permissions = Array.from({ length: 1_001 }, (_, i) => ({ id: `p${i}` }));
    const answer = await refusedBy(service, '/v1/permissions.setRolePermissions', { roleId: ABSENT, permissions });
    expect([answer.status, answer.code]).toEqual([400, 'BAD_REQUEST']);
  });

  test('a role or permission that does not exist is a 404, and nothing is set', async () => {
    const roleId = await create({ name: 'editor' });
    await createPermission('a');
    const path = '/v1/permissions.setRolePermissions';
    const messageOf = async (body: object) => {
      const { status, message } = await refusedBy(service, path, body);
      return [status, message];
    };
    const permissions = [{ name: 'a' }];
    expect(await messageOf({ roleId: ABSENT, permissions })).toEqual([
      404,
      `There is no role "${ABSENT}", or this root key may not see it.`,
    ]);
    expect(await messageOf({ name: 'nobody', permissions })).toEqual([404, 'There is no role "nobody".']);
    expect(await messageOf({ roleId, permissions: [...permissions, { name: 'b' }] })).toEqual([
      404,
      'There is no permission "b". Send create: true with its name to create it.',
    ]);
    // An id is never made, whatever stands beside it.
    expect(await messageOf({ roleId, permissions: [{ id: 'perm_none', name: 'b', create: true }] })).toEqual([
      404,
      'There is no permission "perm_none".',
    ]);
  });

  test('a slug to make whose name another permission has is a conflict', async () => {
    const roleId = await create({ name: 'editor' });
    await createPermission('Read', 'd.read');
    const permissions = [{ name: 'Read', slug: 'd.peruse', create: true }];
    expect(await refusedBy(service, '/v1/permissions.setRolePermissions', { roleId, permissions })).toMatchObject({
      status: 409,
      code: 'CONFLICT',
    });
  });

  test('setting what is there already changes nothing, and is not told', async () => {
    const roleId = await create({ name: 'editor' });
    const id = await createPermission('a');
    await setPermissions({ roleId }, [{ id }]);
    const before = storedIn(service.folder);
    expect(await setPermissions({ roleId }, [{ id }])).toEqual([{ id, name: 'a' }]);
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('of many at the same time the last one stays, whole', async () => {
    const roleId = await create({ name: 'editor' });
    const names = Array.from({ length: 30 }, (_, i) => `p${i}`);
    await Promise.all(
      names.map((name) =>
        setPermissions({ roleId }, [
          { name, create: true },
          { name: `${name}.too`, create: true },
        ]),
      ),
    );
    const { key } = await service.createKey({ roles: ['editor'] });
    const [name] = (await service.verify(key)).permissions;
    expect((await service.verify(key)).permissions).toEqual([name, `${name}.too`]);
    expect(await service.ok('/v1/permissions.listPermissions', {})).toHaveLength(60);
  });
});
