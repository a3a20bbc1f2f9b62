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

const ABSENT = 'perm_1Jm8ZtZk5nSs7HkL9vUy4T';

async function create(fields: Record<string, unknown>): Promise<string> {
  return (await service.ok('/v1/permissions.createPermission', fields)).permissionId as string;
}

const get = (permissionId: string) => service.ok('/v1/permissions.getPermission', { permissionId });
const list = () => service.ok('/v1/permissions.listPermissions', {});
const remove = (permissionId: string) => service.ok('/v1/permissions.deletePermission', { permissionId });

describe('createPermission', () => {
  test('makes a permission that is read as it was made', async () => {
    const id = await create({ name: 'Read documents', slug: 'documents.read', description: 'Every document' });
    expect(id).toMatch(/^perm_[1-9A-HJ-NP-Za-km-z]{22}$/);
    const made = { id, name: 'Read documents', slug: 'documents.read', description: 'Every document' };
    expect(await get(id)).toEqual(made);
    expect(await list()).toEqual([made]);
    await service.restart();
    expect(await get(id)).toEqual(made);
  });

  test('the slug is the name when none is given, and an empty description is none', async () => {
    const id = await create({ name: 'documents.read', description: '' });
    expect(await get(id)).toEqual({ id, name: 'documents.read', slug: 'documents.read' });
    const other = await create({ name: 'documents.write' });
    expect(await get(other)).toEqual({ id: other, name: 'documents.write', slug: 'documents.write' });
  });

  test.each([
    ['a name that another has', { name: 'Read', slug: 'new' }, 'Read'],
    ['a slug that another has', { name: 'New', slug: 'documents.read' }, 'documents.read'],
    ["a name that is another's slug", { name: 'documents.read', slug: 'new' }, 'documents.read'],
    ["a slug that is another's name", { name: 'New', slug: 'Read' }, 'Read'],
    ["a name alone that is another's slug", { name: 'documents.read' }, 'documents.read'],
  ])('%s is a conflict', async (_what, fields, taken) => {
    await create({ name: 'Read', slug: 'documents.read' });
    expect(await refusedBy(service, '/v1/permissions.createPermission', fields)).toEqual({
      status: 409,
      code: 'CONFLICT',
      message: `A permission with the name or slug "${taken}" exists already.`,
    });
  });

  test('names differ by case, and a role may be named like a permission', async () => {
    await create({ name: 'documents.read' });
    await create({ name: 'Documents.read' });
    await service.ok('/v1/permissions.createRole', { name: 'documents.read' });
    expect(await list()).toHaveLength(2);
  });

  test('of 20 at the same time one is made, and 19 are conflicts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call('/v1/permissions.createPermission', { name: 'one' })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(19).fill(409),
    ]);
    expect(await list()).toHaveLength(1);
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
    const id = await create({ name, slug, description });
    expect(await get(id)).toEqual({ id, name, slug, description });
  });
});

describe('listPermissions', () => {
  test('is empty at first, then in the order of the names', async () => {
    expect(await list()).toEqual([]);
    for (const name of ['b', 'a', 'C', 'a.b']) await create({ name });
    expect((await list()).map(({ name }: { name: string }) => name)).toEqual(['C', 'a', 'a.b', 'b']);
  });
});

test('what is read can be asked with GET', async () => {
  const permissionId = await create({ name: 'a' });
  const options = { method: 'GET' };
  const one = await service.ok(`/v1/permissions.getPermission?permissionId=${permissionId}`, undefined, options);
  expect(one).toEqual({ id: permissionId, name: 'a', slug: 'a' });
  expect(await service.ok('/v1/permissions.listPermissions', undefined, options)).toEqual([one]);
});

describe('deletePermission', () => {
  test('from the answer on there is none, and its name can be used again', async () => {
    const id = await create({ name: 'a' });
    expect(await remove(id)).toEqual({});
    expect(await list()).toEqual([]);
    for (const path of ['/v1/permissions.getPermission', '/v1/permissions.deletePermission']) {
      expect(await refusedBy(service, path, { permissionId: id })).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        message: `There is no permission "${id}", or this root key may not see it.`,
      });
    }
    expect(await create({ name: 'a' })).not.toBe(id);
  });

  test('keys and roles that had it lose it at once, and do not get it back when its name is made again', async () => {
    const id = await create({ name: 'documents.read' });
    await create({ name: 'other' });
    const roleId = (await service.ok('/v1/permissions.createRole', { name: 'editor' })).roleId as string;
    await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions: [{ id }, { name: 'other' }] });
    const direct = await service.createKey({ permissions: ['documents.read', 'other'] });
    const through = await service.createKey({ roles: ['editor'] });
    const ask = { authorization: { permissions: 'documents.read' } };
    for (const { key } of [direct, through]) {
      expect(await service.verify(key, ask)).toMatchObject({ valid: true, permissions: ['documents.read', 'other'] });
    }
    await remove(id);
    const expectGone = async () => {
      for (const { key, keyId } of [direct, through]) {
        const verdict = await service.verify(key, ask);
        expect([verdict.code, verdict.permissions]).toEqual(['INSUFFICIENT_PERMISSIONS', ['other']]);
        expect((await service.ok('/v1/keys.getKey', { keyId })).permissions).not.toContain('documents.read');
      }
    };
    await expectGone();
    await create({ name: 'documents.read' });
    await expectGone();
    await service.restart();
    await expectGone();
  });

  test('an id that is none of ours is not repeated', async () => {
    const answer = await refusedBy(service, '/v1/permissions.deletePermission', { permissionId: 'not an id' });
    expect(answer.message).toBe('There is no permission with this id, or this root key may not see it.');
  });
});

describe('rights', () => {
  const ROUTES: readonly [path: string, right: string, body: (id: string) => object][] = [
    ['createPermission', 'create_permission', () => ({ name: 'new' })],
    ['getPermission', 'read_permission', (permissionId) => ({ permissionId })],
    ['listPermissions', 'read_permission', () => ({})],
    ['deletePermission', 'delete_permission', (permissionId) => ({ permissionId })],
  ];

  test.each(ROUTES)('%s needs rbac.*.%s', async (method, right, body) => {
    const id = await create({ name: 'a' });
    const path = `/v1/permissions.${method}`;
    const rights = ['create', 'read', 'update', 'delete'].map((verb) => `rbac.*.${verb}_permission`);
    const without = await rootKeyWith(
      service,
      'api.*.read_api',
      ...rights.filter((each) => each !== `rbac.*.${right}`),
    );
    for (const asked of [id, ABSENT]) {
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
    const [mine, other] = [await create({ name: 'a' }), await create({ name: 'b' })];
    const rootKey = await rootKeyWith(service, `rbac.${mine}.read_permission`, `rbac.${mine}.delete_permission`);
    for (const path of ['/v1/permissions.getPermission', '/v1/permissions.deletePermission']) {
      const [hidden, absent] = [
        await refusedBy(service, path, { permissionId: other }, { rootKey }),
        await refusedBy(service, path, { permissionId: ABSENT }, { rootKey }),
      ];
      expect([hidden.status, hidden.message.replace(other, ABSENT)]).toEqual([404, absent.message]);
      expect((await service.call(path, { permissionId: mine }, { rootKey })).status).toBe(200);
    }
    expect((await refusedBy(service, '/v1/permissions.listPermissions', {}, { rootKey })).status).toBe(403);
  });
});

test('the audit log tells who made and deleted a permission, and what it was', async () => {
  const id = await create({ name: 'Read', slug: 'documents.read', description: 'All' });
  await remove(id);
  const facts = { name: 'Read', slug: 'documents.read', description: 'All' };
  expect(await entriesAbout(service, id)).toEqual([
    { action: 'permission.create', before: null, after: facts },
    { action: 'permission.delete', before: facts, after: null },
  ]);
});
