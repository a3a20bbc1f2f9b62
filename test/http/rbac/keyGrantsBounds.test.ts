import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { MAX_EFFECTIVE_PERMISSIONS } from '../../../src/core/bounds.ts';
import { permission, role } from '../../postgres/conformance/samples.ts';
import { TestService } from '../../support/service.ts';
import { tablesOf } from '../imports/imported.ts';
import { refusedBy } from '../errors/refusal.ts';

let service: TestService;
let apiId = '';

const names = (from: number, until: number): string[] =>
  Array.from({ length: until - from }, (_, i) => `p${String(from + i).padStart(4, '0')}`);
const idsOf = (some: readonly string[]): string[] => some.map((name) => `id of ${name}`);

/** Roles with 1,000 permissions each: `a` and `b` are 2,000 together, `c` is half of each, `d` is one more. */
beforeAll(async () => {
  service = await TestService.start();
  apiId = await service.createApi();
  const roles = { a: names(0, 1000), b: names(1000, 2000), c: names(500, 1500), d: names(2000, 2001) };
  await service.storage.ledger.apply({
    writes: [
      ...names(0, 2001).map((name) => ({
        kind: 'insertPermission' as const,
        permission: permission(`id of ${name}`, name),
      })),
      ...Object.entries(roles).map(([name, held]) => ({
        kind: 'insertRole' as const,
        role: role(`role_${name}`, name, { permissionIds: idsOf(held) }),
      })),
    ],
    accounts: [],
  });
});

afterAll(async () => {
  await service.close();
});

const byName = (...all: string[]) => all.map((name) => ({ name }));
const heldBy = async (keyId: string): Promise<string[]> =>
  (await service.ok('/v1/keys.getKey', { keyId })).permissions as string[];
const tooMany = (count: number) => ({
  status: 412,
  code: 'PRECONDITION_FAILED',
  message: `A key can have at most 2000 permissions, its own and those of its roles together; this would make it ${count}.`,
});

describe('the permissions of a key, its own and those of its roles', () => {
  test('are at most 2,000, each counted once', async () => {
    expect(MAX_EFFECTIVE_PERMISSIONS).toBe(2000);
    const { key, keyId } = await service.createKey({ apiId, roles: ['a', 'b', 'c'], permissions: ['p0000', 'p1999'] });
    expect(await heldBy(keyId)).toHaveLength(2000);
    expect((await service.verify(key)).permissions).toHaveLength(2000);
  });

  test.each([
    ['keys.addRoles', { roles: byName('d') }],
    ['keys.setRoles', { roles: byName('a', 'b', 'd') }],
    ['keys.addPermissions', { permissions: byName('p2000') }],
    ['keys.setPermissions', { permissions: byName('p2000') }],
    ['keys.addPermissions', { permissions: [{ name: 'new', create: true }] }],
    ['keys.updateKey', { roles: byName('a', 'b', 'd') }],
    ['keys.updateKey', { permissions: byName('p2000') }],
    ['keys.updateKey', { roles: byName('a', 'b'), permissions: [{ name: 'new', create: true }] }],
  ])('%s refuses one more: %j', async (path, fields) => {
    const { keyId } = await service.createKey({ apiId, roles: ['a', 'b'] });
    expect(await refusedBy(service, `/v1/${path}`, { keyId, ...fields })).toEqual(tooMany(2001));
  });

  test.each([
    ['a role', { roles: ['a', 'b', 'd'] }],
    ['a permission', { roles: ['a', 'b'], permissions: ['p2000'] }],
    ['a permission that is made', { roles: ['a', 'b'], permissions: ['new'] }],
  ])('createKey refuses one more by %s', async (_name, fields) => {
    expect(await refusedBy(service, '/v1/keys.createKey', { apiId, ...fields })).toEqual(tooMany(2001));
  });

  test('an import refuses one more, by its place, and counts each key for itself', async () => {
    const items = [['a', 'b'], ['a', 'b', 'd'], ['d']].map((roles, i) => ({
      apiId,
      plaintext: `imported-from-elsewhere-${i}`,
      roles,
    }));
    const before = tablesOf(service);
    const { status, body } = await service.call('/v1/migrations.createKeys', items);
    const { message } = tooMany(2001);
    expect([status, body.error.issues]).toEqual([412, [{ path: '[1]', message }]]);
    expect(tablesOf(service)).toEqual(before);
    await service.ok('/v1/migrations.createKeys', [items[0], items[2]]);
  });

  test('can become more when a role grows: the key verifies with all of them, is changed in other ways and loses roles', async () => {
    const { key, keyId } = await service.createKey({ apiId, roles: ['a', 'b', 'grows', 'empty'] });
    await service.ok('/v1/permissions.setRolePermissions', { name: 'grows', permissions: byName('p2000') });
    expect((await service.verify(key)).permissions).toEqual(names(0, 2001));
    await service.ok('/v1/keys.updateKey', { keyId, name: 'renamed' });
    await service.ok('/v1/keys.removeRoles', { keyId, roles: byName('empty') });
    expect(await heldBy(keyId)).toHaveLength(2001);
    expect(await refusedBy(service, '/v1/keys.addRoles', { keyId, roles: byName('c') })).toEqual(tooMany(2001));
    await service.ok('/v1/keys.removeRoles', { keyId, roles: byName('b') });
    expect(await heldBy(keyId)).toHaveLength(1001);
  });

  test('that were deleted do not count', async () => {
    const { keyId } = await service.createKey({ apiId, roles: ['a', 'b'], permissions: ['p0000'] });
    await service.ok('/v1/permissions.deletePermission', { permissionId: 'id of p0000' });
    await service.ok('/v1/keys.addRoles', { keyId, roles: byName('d') });
    expect(await heldBy(keyId)).toHaveLength(2000);
    const items = [{ apiId, plaintext: 'imported-from-elsewhere', roles: ['a', 'b', 'd'] }];
    await service.ok('/v1/migrations.createKeys', items);
  });
});
