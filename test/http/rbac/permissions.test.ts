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

const ABSENT_PERMISSION = 'perm_1Jm8ZtZk5nSs7HkL9vUy4T';

async function createPermissionOf(fields: Record<string, unknown>): Promise<string> {
  return (await service.ok('/v1/permissions.createPermission', fields)).permissionId as string;
}

const getPermission = (permissionId: string) => service.ok('/v1/permissions.getPermission', { permissionId });

const listPermissions = () => service.ok('/v1/permissions.listPermissions', {});

const deletePermission = (permissionId: string) => service.ok('/v1/permissions.deletePermission', { permissionId });

describe('createPermission', () => {
  test('makes a permission that is read as it was made', async () => {
    const id = await createPermissionOf({
      name: 'Read documents',
      slug: 'documents.read',
      description: 'Every document',
    });
    expect(id).toMatch(/^perm_[1-9A-HJ-NP-Za-km-z]{22}$/);
    const made = { id, name: 'Read documents', slug: 'documents.read', description: 'Every document' };
    expect(await getPermission(id)).toEqual(made);
    expect(await listPermissions()).toEqual([made]);
    await service.restart();
    expect(await getPermission(id)).toEqual(made);
  });

  test('the slug is the name when none is given, and an empty description is none', async () => {
    const id = await createPermissionOf({ name: 'documents.read', description: '' });
    expect(await getPermission(id)).toEqual({ id, name: 'documents.read', slug: 'documents.read' });
    const other = await createPermissionOf({ name: 'documents.write' });
    expect(await getPermission(other)).toEqual({ id: other, name: 'documents.write', slug: 'documents.write' });
  });

  test.each([
    ['a name that another has', { name: 'Read', slug: 'new' }, 'Read'],
    ['a slug that another has', { name: 'New', slug: 'documents.read' }, 'documents.read'],
    ["a name that is another's slug", { name: 'documents.read', slug: 'new' }, 'documents.read'],
    ["a slug that is another's name", { name: 'New', slug: 'Read' }, 'Read'],
    ["a name alone that is another's slug", { name: 'documents.read' }, 'documents.read'],
  ])('%s is a conflict', async (_what, fields, taken) => {
    await createPermissionOf({ name: 'Read', slug: 'documents.read' });
    expect(await refusedBy(service, '/v1/permissions.createPermission', fields)).toEqual({
      status: 409,
      code: 'CONFLICT',
      message: `A permission with the name or slug "${taken}" exists already.`,
    });
  });

  test('names differ by case, and a role may be named like a permission', async () => {
    await createPermissionOf({ name: 'documents.read' });
    await createPermissionOf({ name: 'Documents.read' });
    await service.ok('/v1/permissions.createRole', { name: 'documents.read' });
    expect(await listPermissions()).toHaveLength(2);
  });

  test('of 20 at the same time one is made, and 19 are conflicts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call('/v1/permissions.createPermission', { name: 'one' })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(19).fill(409),
    ]);
    expect(await listPermissions()).toHaveLength(1);
  });

  const TEXT = 'characters, got';
  const cut = (letter: string) => `"${letter.repeat(64)}"... (513 characters)`;

  test.each([
    ['no name', {}, 'name', 'name is missing'],
    ['an empty name', { name: '' }, 'name', `name must be a string of 1 to 512 ${TEXT} ""`],
    [
      'a name of 513 characters',
      { name: 'n'.repeat(513) },
      'name',
      `name must be a string of 1 to 512 ${TEXT} ${cut('n')}`,
    ],
    ['a name with NUL', { name: 'a\0' }, 'name', 'name must not contain NUL or lone surrogates, got "a\\u0000"'],
    ['a name that is a number', { name: 1 }, 'name', `name must be a string of 1 to 512 ${TEXT} 1`],
    ['an empty slug', { name: 'a', slug: '' }, 'slug', `slug must be a string of 1 to 512 ${TEXT} ""`],
    [
      'a slug of 513 characters',
      { name: 'a', slug: 's'.repeat(513) },
      'slug',
      `slug must be a string of 1 to 512 ${TEXT} ${cut('s')}`,
    ],
    [
      'a description of 513 characters',
      { name: 'a', description: 'd'.repeat(513) },
      'description',
      `description must be a string of 0 to 512 ${TEXT} ${cut('d')}`,
    ],
    [
      'a description that is null',
      { name: 'a', description: null },
      'description',
      `description must be a string of 0 to 512 ${TEXT} null`,
    ],
    ['an unknown field', { name: 'a', slugg: 'b' }, 'slugg', 'unknown field `slugg`, did you mean `slug`?'],
  ])('%s is a 400 that says so', async (_what, fields, path, message) => {
    const answer = await refusedBy(service, '/v1/permissions.createPermission', fields);
    expect(answer).toEqual({ status: 400, code: 'BAD_REQUEST', message, issues: [{ path, message }] });
  });

  test('512 characters are kept as they are, whatever they are', async () => {
    const [name, slug, description] = ['😀'.repeat(512), 'é'.repeat(512), '*. '.repeat(170)];
    const id = await createPermissionOf({ name, slug, description });
    expect(await getPermission(id)).toEqual({ id, name, slug, description });
  });
});

describe('listPermissions', () => {
  test('is empty at first, then in the order of the names', async () => {
    expect(await listPermissions()).toEqual([]);
    for (const name of ['b', 'a', 'C', 'a.b']) await createPermissionOf({ name });
    expect((await listPermissions()).map(({ name }: { name: string }) => name)).toEqual(['C', 'a', 'a.b', 'b']);
  });
});

describe('deletePermission', () => {
  test('from the answer on there is none, and its name can be used again', async () => {
    const id = await createPermissionOf({ name: 'a' });
    expect(await deletePermission(id)).toEqual({});
    expect(await listPermissions()).toEqual([]);
    for (const path of ['/v1/permissions.getPermission', '/v1/permissions.deletePermission']) {
      expect(await refusedBy(service, path, { permissionId: id })).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        message: `There is no permission "${id}", or this root key may not see it.`,
      });
    }
    expect(await createPermissionOf({ name: 'a' })).not.toBe(id);
  });

  test('keys and roles that had it lose it at once, and do not get it back when its name is made again', async () => {
    const id = await createPermissionOf({ name: 'documents.read' });
    await createPermissionOf({ name: 'other' });
    const roleId = (await service.ok('/v1/permissions.createRole', { name: 'editor' })).roleId as string;
    await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions: [{ id }, { name: 'other' }] });
    const direct = await service.createKey({ permissions: ['documents.read', 'other'] });
    const through = await service.createKey({ roles: ['editor'] });
    const ask = { authorization: { permissions: 'documents.read' } };
    for (const { key } of [direct, through]) {
      expect(await service.verify(key, ask)).toMatchObject({ valid: true, permissions: ['documents.read', 'other'] });
    }
    await deletePermission(id);
    const expectGone = async () => {
      for (const { key, keyId } of [direct, through]) {
        const verdict = await service.verify(key, ask);
        expect([verdict.code, verdict.permissions]).toEqual(['INSUFFICIENT_PERMISSIONS', ['other']]);
        expect((await service.ok('/v1/keys.getKey', { keyId })).permissions).not.toContain('documents.read');
      }
    };
    await expectGone();
    await createPermissionOf({ name: 'documents.read' });
    await expectGone();
    await service.restart();
    await expectGone();
  });

  test('an id that is none of ours is not repeated', async () => {
    const answer = await refusedBy(service, '/v1/permissions.deletePermission', { permissionId: 'not an id' });
    expect(answer.message).toBe('There is no permission with this id, or this root key may not see it.');
  });
});

describe('rights on permissions', () => {
  const PERMISSION_ROUTES: readonly [path: string, right: string, body: (id: string) => object][] = [
    ['createPermission', 'create_permission', () => ({ name: 'new' })],
    ['getPermission', 'read_permission', (permissionId) => ({ permissionId })],
    ['listPermissions', 'read_permission', () => ({})],
    ['deletePermission', 'delete_permission', (permissionId) => ({ permissionId })],
  ];

  test.each(PERMISSION_ROUTES)('%s needs rbac.*.%s', async (method, right, body) => {
    const id = await createPermissionOf({ name: 'a' });
    const path = `/v1/permissions.${method}`;
    const rights = ['create', 'read', 'update', 'delete'].map((verb) => `rbac.*.${verb}_permission`);
    const without = await rootKeyWith(
      service,
      'api.*.read_api',
      ...rights.filter((each) => each !== `rbac.*.${right}`),
    );
    for (const asked of [id, ABSENT_PERMISSION]) {
      expect(await refusedBy(service, path, body(asked), { rootKey: without })).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key lacks the right rbac.*.${right}.`,
      });
    }
    const rootKey = await rootKeyWith(service, `rbac.*.${right}`);
    expect((await service.call(path, body(id), { rootKey })).status).toBe(200);
  });

  test('a right on one permission shows that one; the others look as if they were not there', async () => {
    const [mine, other] = [await createPermissionOf({ name: 'a' }), await createPermissionOf({ name: 'b' })];
    const rootKey = await rootKeyWith(service, `rbac.${mine}.read_permission`, `rbac.${mine}.delete_permission`);
    for (const path of ['/v1/permissions.getPermission', '/v1/permissions.deletePermission']) {
      const [hidden, absent] = [
        await refusedBy(service, path, { permissionId: other }, { rootKey }),
        await refusedBy(service, path, { permissionId: ABSENT_PERMISSION }, { rootKey }),
      ];
      expect([hidden.status, hidden.message.replace(other, ABSENT_PERMISSION)]).toEqual([404, absent.message]);
      expect((await service.call(path, { permissionId: mine }, { rootKey })).status).toBe(200);
    }
    expect((await refusedBy(service, '/v1/permissions.listPermissions', {}, { rootKey })).status).toBe(403);
  });
});

const ABSENT_ROLE = 'role_1Jm8Zta6oTt8JmM2wVz5Ux';

async function createRole(fields: Record<string, unknown>): Promise<string> {
  return (await service.ok('/v1/permissions.createRole', fields)).roleId as string;
}

async function createPermission(name: string, slug = name): Promise<string> {
  return (await service.ok('/v1/permissions.createPermission', { name, slug })).permissionId as string;
}

const getRole = (roleId: string) => service.ok('/v1/permissions.getRole', { roleId });

const listRoles = () => service.ok('/v1/permissions.listRoles', {});

const setPermissions = (role: object, permissions: readonly object[], options = {}) =>
  service.ok('/v1/permissions.setRolePermissions', { ...role, permissions }, options);

describe('createRole', () => {
  test('makes a role that is read as it was made, also with GET', async () => {
    const id = await createRole({ name: 'editor', description: 'Reads and writes' });
    expect(id).toMatch(/^role_[1-9A-HJ-NP-Za-km-z]{22}$/);
    const made = { id, name: 'editor', description: 'Reads and writes' };
    expect(await getRole(id)).toEqual({ ...made, permissions: [] });
    const options = { method: 'GET' };
    expect(await service.ok(`/v1/permissions.getRole?roleId=${id}`, undefined, options)).toEqual({
      ...made,
      permissions: [],
    });
    expect(await service.ok('/v1/permissions.listRoles', undefined, options)).toEqual([made]);
    await service.restart();
    expect(await getRole(id)).toEqual({ ...made, permissions: [] });
  });

  test('an empty description is none', async () => {
    const id = await createRole({ name: 'editor', description: '' });
    expect(await getRole(id)).toEqual({ id, name: 'editor', permissions: [] });
  });

  test('a name that another role has is a conflict', async () => {
    await createRole({ name: 'editor' });
    expect(await refusedBy(service, '/v1/permissions.createRole', { name: 'editor' })).toEqual({
      status: 409,
      code: 'CONFLICT',
      message: 'A role with the name "editor" exists already.',
    });
  });

  test('of 20 at the same time one is made, and 19 are conflicts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call('/v1/permissions.createRole', { name: 'one' })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(19).fill(409),
    ]);
    expect(await listRoles()).toHaveLength(1);
  });

  test.each([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of 513 characters', { name: 'n'.repeat(513) }, 'name'],
    ['a description of 513 characters', { name: 'a', description: 'd'.repeat(513) }, 'description'],
    ['a slug, which only permissions have', { name: 'a', slug: 'a' }, 'slug'],
  ])('%s is a 400', async (_what, fields, path) => {
    const answer = await refusedBy(service, '/v1/permissions.createRole', fields);
    expect(answer).toMatchObject({ status: 400, code: 'BAD_REQUEST', issues: [{ path }] });
  });
});

test('listRoles is empty at first, then in the order of the names', async () => {
  expect(await listRoles()).toEqual([]);
  for (const name of ['b', 'a', 'C']) await createRole({ name });
  expect((await listRoles()).map(({ name }: { name: string }) => name)).toEqual(['C', 'a', 'b']);
});

describe('deleteRole', () => {
  test('every key loses it at once, with what it brought; the permissions stay', async () => {
    const roleId = await createRole({ name: 'editor' });
    await createPermission('d.read');
    await createPermission('own');
    await setPermissions({ roleId }, [{ name: 'd.read' }]);
    const { key, keyId } = await service.createKey({ roles: ['editor'], permissions: ['own'] });
    const ask = { authorization: { permissions: 'd.read' } };
    expect(await service.verify(key, ask)).toMatchObject({ roles: ['editor'], permissions: ['d.read', 'own'] });
    expect(await service.ok('/v1/permissions.deleteRole', { roleId })).toEqual({});
    const expectGone = async () => {
      const verdict = await service.verify(key, ask);
      expect([verdict.code, verdict.permissions, verdict.roles ?? []]).toEqual([
        'INSUFFICIENT_PERMISSIONS',
        ['own'],
        [],
      ]);
      expect((await service.ok('/v1/keys.getKey', { keyId })).roles).toEqual([]);
    };
    await expectGone();
    await createRole({ name: 'editor' });
    await setPermissions({ name: 'editor' }, [{ name: 'd.read' }]);
    await expectGone();
    await service.restart();
    await expectGone();
    expect(await service.ok('/v1/permissions.listPermissions', {})).toHaveLength(2);
  });

  test('one that does not exist, or does not any more, is a 404', async () => {
    const roleId = await createRole({ name: 'editor' });
    await service.ok('/v1/permissions.deleteRole', { roleId });
    for (const path of ['/v1/permissions.getRole', '/v1/permissions.deleteRole']) {
      for (const asked of [roleId, ABSENT_ROLE]) {
        expect(await refusedBy(service, path, { roleId: asked })).toEqual({
          status: 404,
          code: 'NOT_FOUND',
          message: `There is no role "${asked}", or this root key may not see it.`,
        });
      }
    }
    expect(await listRoles()).toEqual([]);
  });
});

describe('rights on roles', () => {
  const ROLE_ROUTES: readonly [method: string, right: string, body: (roleId: string) => object][] = [
    ['createRole', 'create_role', () => ({ name: 'new' })],
    ['getRole', 'read_role', (roleId) => ({ roleId })],
    ['listRoles', 'read_role', () => ({})],
    ['deleteRole', 'delete_role', (roleId) => ({ roleId })],
    ['setRolePermissions', 'add_permission_to_role', (roleId) => ({ roleId, permissions: [{ name: 'a' }] })],
    ['setRolePermissions', 'remove_permission_from_role', (roleId) => ({ roleId, permissions: [] })],
  ];
  const ALL = [...new Set(ROLE_ROUTES.map(([, right]) => right))];

  test.each(ROLE_ROUTES)('%s needs rbac.*.%s', async (method, right, body) => {
    const roleId = await createRole({ name: 'editor' });
    await createPermission('a');
    const path = `/v1/permissions.${method}`;
    const rootKey = await rootKeyWith(service, ...ALL.filter((each) => each !== right).map((each) => `rbac.*.${each}`));
    for (const asked of [roleId, ABSENT_ROLE]) {
      expect(await refusedBy(service, path, body(asked), { rootKey })).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key lacks the right rbac.*.${right}.`,
      });
    }
    const needed = ROLE_ROUTES.filter(([each]) => each === method).map(([, each]) => `rbac.*.${each}`);
    expect((await service.call(path, body(roleId), { rootKey: await rootKeyWith(service, ...needed) })).status).toBe(
      200,
    );
  });

  test('a right on one role shows that one; the others look as if they were not there', async () => {
    const [mine, other] = [await createRole({ name: 'a' }), await createRole({ name: 'b' })];
    const rootKey = await rootKeyWith(service, `rbac.${mine}.read_role`, `rbac.${mine}.delete_role`);
    for (const path of ['/v1/permissions.getRole', '/v1/permissions.deleteRole']) {
      const hidden = await refusedBy(service, path, { roleId: other }, { rootKey });
      const absent = await refusedBy(service, path, { roleId: ABSENT_ROLE }, { rootKey });
      expect([hidden.status, hidden.message.replace(other, ABSENT_ROLE)]).toEqual([404, absent.message]);
      expect((await service.call(path, { roleId: mine }, { rootKey })).status).toBe(200);
    }
    expect((await refusedBy(service, '/v1/permissions.listRoles', {}, { rootKey })).status).toBe(403);
  });
});

describe('setRolePermissions', () => {
  test('sets all of them, by id, name or slug, and answers them in the order of the names', async () => {
    const roleId = await createRole({ name: 'editor' });
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
    expect(await getRole(roleId)).toEqual({ id: roleId, name: 'editor', permissions: all.slice(1, 2) });
    expect(await setPermissions({ roleId }, [])).toEqual([]);
    expect(await getRole(roleId)).toEqual({ id: roleId, name: 'editor', permissions: [] });
  });

  test('the next verification of a key that is known already sees it', async () => {
    const roleId = await createRole({ name: 'editor' });
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
    const roleId = await createRole({ name: 'editor' });
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
    const roleId = await createRole({ name: 'editor' });
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
      { roleId: ABSENT_ROLE, name: 'a', permissions: [] },
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
    ['no permissions', { roleId: ABSENT_ROLE }, [{ path: 'permissions', message: 'permissions is missing' }]],
  ])('%s is a 400 that says so', async (_what, body, issues) => {
    const answer = await refusedBy(service, '/v1/permissions.setRolePermissions', body);
    expect(answer).toMatchObject({ status: 400, code: 'BAD_REQUEST', issues });
  });

  test('1,001 permissions are a 400', async () => {
    const permissions = Array.from({ length: 1_001 }, (_, i) => ({ id: `p${i}` }));
    const answer = await refusedBy(service, '/v1/permissions.setRolePermissions', { roleId: ABSENT_ROLE, permissions });
    expect([answer.status, answer.code]).toEqual([400, 'BAD_REQUEST']);
  });

  test('a role or permission that does not exist is a 404, and nothing is set', async () => {
    const roleId = await createRole({ name: 'editor' });
    await createPermission('a');
    const path = '/v1/permissions.setRolePermissions';
    const messageOf = async (body: object) => {
      const { status, message } = await refusedBy(service, path, body);
      return [status, message];
    };
    const permissions = [{ name: 'a' }];
    expect(await messageOf({ roleId: ABSENT_ROLE, permissions })).toEqual([
      404,
      `There is no role "${ABSENT_ROLE}", or this root key may not see it.`,
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
    const roleId = await createRole({ name: 'editor' });
    await createPermission('Read', 'd.read');
    const permissions = [{ name: 'Read', slug: 'd.peruse', create: true }];
    expect(await refusedBy(service, '/v1/permissions.setRolePermissions', { roleId, permissions })).toMatchObject({
      status: 409,
      code: 'CONFLICT',
    });
  });

  test('setting what is there already changes nothing, and is not told', async () => {
    const roleId = await createRole({ name: 'editor' });
    const id = await createPermission('a');
    await setPermissions({ roleId }, [{ id }]);
    const before = storedIn(service.folder);
    expect(await setPermissions({ roleId }, [{ id }])).toEqual([{ id, name: 'a' }]);
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('of many at the same time the last one stays, whole', async () => {
    const roleId = await createRole({ name: 'editor' });
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

const ASK = { authorization: { permissions: 'd.read' } };

describe('verifications that race a change', () => {
  const CHANGES: readonly [name: string, change: (ids: Record<string, string>) => Promise<unknown>][] = [
    [
      'taking it from the role',
      ({ roleId }) => service.ok('/v1/permissions.setRolePermissions', { roleId, permissions: [] }),
    ],
    ['deleting the role', ({ roleId }) => service.ok('/v1/permissions.deleteRole', { roleId })],
    ['deleting the permission', ({ permissionId }) => service.ok('/v1/permissions.deletePermission', { permissionId })],
    ['taking the role from the key', ({ keyId }) => service.ok('/v1/keys.setRoles', { keyId, roles: [] })],
  ];
  const KINDS: readonly [name: string, fields: Record<string, unknown>][] = [
    ['a plain key', {}],
    ['a key with a local limit', { ratelimit: { limit: 100_000, duration: 60_000 } }],
    ['a key with credits', { remaining: 100_000 }],
  ];

  describe.each(KINDS)('%s', (_name, fields) => {
    test.each(CHANGES)('%s: none asked after the answer is valid', async (_change, change) => {
      const { roleId } = await service.ok('/v1/permissions.createRole', { name: 'editor' });
      const permissions = [{ name: 'd.read', create: true }];
      const [{ id: permissionId }] = await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions });
      const { key, keyId } = await service.createKey({ ...fields, roles: ['editor'] });
      const race = { isAnswered: false };
      const early: string[] = [];
      const late: string[] = [];
      const verifyOnce = async (): Promise<void> => {
        const codes = race.isAnswered ? late : early;
        codes.push((await service.verify(key, ASK)).code as string);
      };
      const racing = [verifyOnce()];
      await racing[0];
      const changed = change({ roleId, permissionId, keyId }).then(() => (race.isAnswered = true));
      while (racing.length < 500 || !race.isAnswered) {
        for (let i = 0; i < 50; i++) racing.push(verifyOnce());
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      await Promise.all([changed, ...racing]);
      for (let i = 0; i < 10; i++) await verifyOnce();
      expect(early[0]).toBe('VALID');
      expect(new Set(late)).toEqual(new Set(['INSUFFICIENT_PERMISSIONS']));
    });
  });
});
