import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { refusedBy, rootKeyWith } from '../errors/refusal.ts';

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
const list = () => service.ok('/v1/permissions.listRoles', {});
const setPermissions = (role: object, permissions: readonly object[], options = {}) =>
  service.ok('/v1/permissions.setRolePermissions', { ...role, permissions }, options);

describe('createRole', () => {
  test('makes a role that is read as it was made, also with GET', async () => {
    const id = await create({ name: 'editor', description: 'Reads and writes' });
    expect(id).toMatch(/^role_[1-9A-HJ-NP-Za-km-z]{22}$/);
    const made = { id, name: 'editor', description: 'Reads and writes' };
    expect(await get(id)).toEqual({ ...made, permissions: [] });
    const options = { method: 'GET' };
    expect(await service.ok(`/v1/permissions.getRole?roleId=${id}`, undefined, options)).toEqual({
      ...made,
      permissions: [],
    });
    expect(await service.ok('/v1/permissions.listRoles', undefined, options)).toEqual([made]);
    await service.restart();
    expect(await get(id)).toEqual({ ...made, permissions: [] });
  });

  test('an empty description is none', async () => {
    const id = await create({ name: 'editor', description: '' });
    expect(await get(id)).toEqual({ id, name: 'editor', permissions: [] });
  });

  test('a name that another role has is a conflict', async () => {
    await create({ name: 'editor' });
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
    expect(await list()).toHaveLength(1);
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
  expect(await list()).toEqual([]);
  for (const name of ['b', 'a', 'C']) await create({ name });
  expect((await list()).map(({ name }: { name: string }) => name)).toEqual(['C', 'a', 'b']);
});

describe('deleteRole', () => {
  test('every key loses it at once, with what it brought; the permissions stay', async () => {
    const roleId = await create({ name: 'editor' });
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
    await create({ name: 'editor' });
    await setPermissions({ name: 'editor' }, [{ name: 'd.read' }]);
    await expectGone();
    await service.restart();
    await expectGone();
    expect(await service.ok('/v1/permissions.listPermissions', {})).toHaveLength(2);
  });

  test('one that does not exist, or does not any more, is a 404', async () => {
    const roleId = await create({ name: 'editor' });
    await service.ok('/v1/permissions.deleteRole', { roleId });
    for (const path of ['/v1/permissions.getRole', '/v1/permissions.deleteRole']) {
      for (const asked of [roleId, ABSENT]) {
        expect(await refusedBy(service, path, { roleId: asked })).toEqual({
          status: 404,
          code: 'NOT_FOUND',
          message: `There is no role "${asked}", or this root key may not see it.`,
        });
      }
    }
    expect(await list()).toEqual([]);
  });
});

describe('rights', () => {
  const ROUTES: readonly [method: string, right: string, body: (roleId: string) => object][] = [
    ['createRole', 'create_role', () => ({ name: 'new' })],
    ['getRole', 'read_role', (roleId) => ({ roleId })],
    ['listRoles', 'read_role', () => ({})],
    ['deleteRole', 'delete_role', (roleId) => ({ roleId })],
    ['setRolePermissions', 'add_permission_to_role', (roleId) => ({ roleId, permissions: [{ name: 'a' }] })],
    ['setRolePermissions', 'remove_permission_from_role', (roleId) => ({ roleId, permissions: [] })],
  ];
  const ALL = [...new Set(ROUTES.map(([, right]) => right))];

  test.each(ROUTES)('%s needs rbac.*.%s', async (method, right, body) => {
    const roleId = await create({ name: 'editor' });
    await createPermission('a');
    const path = `/v1/permissions.${method}`;
    const rootKey = await rootKeyWith(service, ...ALL.filter((each) => each !== right).map((each) => `rbac.*.${each}`));
    for (const asked of [roleId, ABSENT]) {
      expect(await refusedBy(service, path, body(asked), { rootKey })).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key lacks the right rbac.*.${right}.`,
      });
    }
    const needed = ROUTES.filter(([each]) => each === method).map(([, each]) => `rbac.*.${each}`);
    expect((await service.call(path, body(roleId), { rootKey: await rootKeyWith(service, ...needed) })).status).toBe(
      200,
    );
  });

  test('a right on one role shows that one; the others look as if they were not there', async () => {
    const [mine, other] = [await create({ name: 'a' }), await create({ name: 'b' })];
    const rootKey = await rootKeyWith(service, `rbac.${mine}.read_role`, `rbac.${mine}.delete_role`);
    for (const path of ['/v1/permissions.getRole', '/v1/permissions.deleteRole']) {
      const hidden = await refusedBy(service, path, { roleId: other }, { rootKey });
      const absent = await refusedBy(service, path, { roleId: ABSENT }, { rootKey });
      expect([hidden.status, hidden.message.replace(other, ABSENT)]).toEqual([404, absent.message]);
      expect((await service.call(path, { roleId: mine }, { rootKey })).status).toBe(200);
    }
    expect((await refusedBy(service, '/v1/permissions.listRoles', {}, { rootKey })).status).toBe(403);
  });
});

test('the audit log tells of a role what it was and what it held', async () => {
  const roleId = await create({ name: 'editor', description: 'All' });
  const a = await createPermission('a');
  await setPermissions({ roleId }, [{ id: a }]);
  const [, { id: b }] = await setPermissions({ roleId }, [{ id: a }, { name: 'b', create: true }]);
  await service.ok('/v1/permissions.deleteRole', { roleId });
  const [one, two] = [
    { id: a, name: 'a' },
    { id: b, name: 'b' },
  ];
  expect(await entriesAbout(service, roleId)).toEqual([
    { action: 'role.create', before: null, after: { name: 'editor', description: 'All' } },
    { action: 'role.setPermissions', before: { permissions: [] }, after: { permissions: [one] } },
    { action: 'role.setPermissions', before: { permissions: [one] }, after: { permissions: [one, two] } },
    { action: 'role.delete', before: { name: 'editor', description: 'All', permissionIds: [a, b] }, after: null },
  ]);
  expect(await entriesAbout(service, b)).toEqual([
    { action: 'permission.create', before: null, after: { name: 'b', slug: 'b' } },
  ]);
});
