import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';

import { permission, role } from '../../postgres/conformance/samples.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;
let apiId = '';

/** How often each read was asked for, and for how many at most. */
let reads: Record<string, number> = {};
let spies: { mockRestore(): void }[] = [];

const READS = [
  'listPermissions',
  'listRoles',
  'findPermissions',
  'findRoles',
  'countPermissions',
  'countRoles',
] as const;

beforeEach(async () => {
  service = await TestService.start();
  apiId = await service.createApi();
  await service.storage.ledger.apply({
    writes: [
      ...Array.from({ length: 3000 }, (_, i) => ({
        kind: 'insertPermission' as const,
        permission: permission(`perm_${i}`, `p${i}`),
      })),
      { kind: 'insertRole', role: role('role_1', 'editor', { permissionIds: ['perm_1', 'perm_2'] }) },
      { kind: 'insertRole', role: role('role_2', 'reader', { permissionIds: ['perm_1'] }) },
    ],
    accounts: [],
  });
});

afterEach(async () => {
  for (const spy of spies) spy.mockRestore();
  await service.close();
});

function watch(): void {
  const { records } = service.storage;
  reads = {};
  spies = READS.map((name) => {
    const original = (records[name] as (argument: never) => Promise<unknown>).bind(records);
    return spyOn(records, name).mockImplementation((async (argument: never) => {
      reads[name] = (reads[name] ?? 0) + 1;
      return original(argument);
    }) as never);
  });
}

describe('who names roles and permissions reads those, not all that there are', () => {
  test.each([
    ['permissions.createPermission', { name: 'new' }, { findPermissions: 1, countPermissions: 1 }],
    ['permissions.createRole', { name: 'new' }, { findRoles: 1, countRoles: 1 }],
    ['permissions.getPermission', { permissionId: 'perm_7' }, { findPermissions: 1 }],
    ['permissions.getRole', { roleId: 'role_1' }, { findPermissions: 1, findRoles: 1 }],
    ['permissions.deletePermission', { permissionId: 'perm_7' }, { findPermissions: 1 }],
    ['permissions.deleteRole', { roleId: 'role_1' }, { findRoles: 1 }],
    [
      'permissions.setRolePermissions',
      { name: 'editor', permissions: [{ name: 'p7' }, { name: 'new', create: true }] },
      { findRoles: 1, findPermissions: 2, countPermissions: 1 },
    ],
  ])('%s %j', async (path, body, expected) => {
    watch();
    await service.ok(`/v1/${path}`, body);
    expect(reads).toEqual(expected);
  });

  test('createKey reads them once, and counts only when something is made', async () => {
    watch();
    await service.createKey({ apiId, roles: ['editor', 'reader'], permissions: ['p1', 'p2'] });
    expect(reads).toEqual({ findRoles: 1, findPermissions: 1 });
    await service.createKey({ apiId, roles: ['made'], permissions: ['made'] });
    expect(reads).toEqual({ findRoles: 2, findPermissions: 2, countRoles: 1, countPermissions: 1 });
  });

  test('an import of 100 keys reads them once for all of its keys', async () => {
    const items = Array.from({ length: 100 }, (_, i) => ({
      apiId,
      plaintext: `imported-from-elsewhere-${i}`,
      roles: ['editor', 'reader'],
      permissions: [`p${i}`, `p${i + 1000}`],
    }));
    watch();
    const { keyIds } = await service.ok('/v1/migrations.createKeys', items);
    expect(reads).toEqual({ findRoles: 1, findPermissions: 1 });
    const last = await service.ok('/v1/keys.getKey', { keyId: keyIds[99] });
    expect(last).toMatchObject({ roles: ['editor', 'reader'], permissions: ['p1', 'p1099', 'p2', 'p99'] });
  });
});
