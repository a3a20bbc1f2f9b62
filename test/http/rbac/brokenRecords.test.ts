import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { refusedBy } from '../errors/refusal.ts';

let service: TestService;
let roleId = '';
let apiId = '';
let key = '';
let keyId = '';

/** What a person with a shell, or a bug, could do to the tables. */
function damage(sql: string, ...params: string[]): void {
  const db = new Database(`${service.folder}/keystile.db`);
  expect(db.query(sql).run(...params).changes).toBe(1);
  db.close();
}

const started = reuseService();

/** A key with a role that cannot be read, one that can, and a permission of its own. */
beforeEach(async () => {
  service = started();
  apiId = await service.createApi();
  roleId = (await service.ok('/v1/permissions.createRole', { name: 'broken' })).roleId;
  await service.ok('/v1/permissions.createRole', { name: 'fine' });
  const permissions = [{ name: 'from.role', create: true }];
  await service.ok('/v1/permissions.setRolePermissions', { name: 'fine', permissions });
  await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions });
  ({ key, keyId } = await service.createKey({ apiId, roles: ['broken', 'fine'], permissions: ['own'] }));
  damage('UPDATE roles SET permissions = ? WHERE id = ?', '{}', roleId);
});

const shown = () => service.ok('/v1/keys.getKey', { keyId });
const seen = { roles: ['fine'], permissions: ['from.role', 'own'] };
const unreadableRole = () => ({
  status: 500,
  code: 'INTERNAL_SERVER_ERROR',
  message: `The stored role ${roleId} cannot be read: permissions cannot be read.`,
});

async function expectVerificationFails(): Promise<void> {
  const { status, body } = await service.call('/v1/keys.verifyKey', { key }, { rootKey: null });
  expect([status, body.error.message]).toEqual([
    500,
    `The stored key ${keyId} cannot be read: ${roleId}: permissions cannot be read.`,
  ]);
}

describe('a key with a role that cannot be read', () => {
  test('is shown without the role, alone, in a listing and by its secret; a verification names the role', async () => {
    expect(await shown()).toMatchObject({ id: keyId, ...seen });
    expect((await service.ok('/v1/apis.listKeys', { apiId })).keys).toMatchObject([{ id: keyId, ...seen }]);
    expect(await service.ok('/v1/keys.whoami', { key })).toMatchObject({ id: keyId });
    await expectVerificationFails();
  });

  test('is the same after a start, and harms no other key that is looked up with it', async () => {
    const other = await service.createKey({ apiId, roles: ['fine'] });
    await service.restart();
    const [verdict] = await Promise.all([service.verify(other.key), expectVerificationFails()]);
    expect(verdict.code).toBe('VALID');
    expect(await shown()).toMatchObject({ id: keyId, ...seen });
  });

  test('is updated and rotated, and keeps the role', async () => {
    await service.ok('/v1/keys.updateKey', { keyId, name: 'renamed' });
    expect(await shown()).toMatchObject({ name: 'renamed', ...seen });
    await expectVerificationFails();
    ({ key } = await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 0 }));
    await expectVerificationFails();
  });

  test('is deleted softly and restored', async () => {
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect(await service.verify(key)).toMatchObject({ code: 'NOT_FOUND' });
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect(await shown()).toMatchObject(seen);
    await expectVerificationFails();
  });

  test('outlives a soft deletion of all keys: it can be restored', async () => {
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toMatchObject({ deletedKeys: 1 });
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect(await shown()).toMatchObject(seen);
  });

  test('is deleted for good', async () => {
    await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
    expect((await service.call('/v1/keys.restoreKey', { keyId })).status).toBe(404);
  });

  test('gets other roles and permissions and does not lose the broken one by it', async () => {
    await service.ok('/v1/keys.addRoles', { keyId, roles: [{ name: 'other', create: true }] });
    await service.ok('/v1/keys.addPermissions', { keyId, permissions: [{ name: 'more', create: true }] });
    await service.ok('/v1/keys.removeRoles', { keyId, roles: [{ name: 'fine' }] });
    expect(await shown()).toMatchObject({ roles: ['other'], permissions: ['more', 'own'] });
    await expectVerificationFails();
  });

  test('verifies again once the role is taken from it, and the audit log tells of it', async () => {
    await service.ok('/v1/keys.removeRoles', { keyId, roles: [{ name: 'broken' }] });
    expect(await service.verify(key)).toMatchObject({ code: 'VALID', ...seen });
    expect((await entriesAbout(service, keyId)).at(-1)).toMatchObject({
      action: 'key.removeRoles',
      before: { roles: [{ id: roleId, name: 'broken' }, { name: 'fine' }] },
      after: { roles: [{ name: 'fine' }] },
    });
  });

  test.each([
    ['others in the place of all', () => service.ok('/v1/keys.setRoles', { keyId, roles: [{ name: 'fine' }] })],
    ['the deletion of the role', () => service.ok('/v1/permissions.deleteRole', { roleId })],
  ])('verifies again after %s', async (_name, mend) => {
    await mend();
    expect(await service.verify(key)).toMatchObject({ code: 'VALID', ...seen });
  });

  test.each([
    ['none', [], seen.permissions],
    ['one', [{ name: 'mended', create: true }], ['from.role', 'mended', 'own']],
  ])('verifies again when the permissions of the role are set anew: %s', async (_name, permissions, all) => {
    await service.ok('/v1/permissions.setRolePermissions', { name: 'broken', permissions });
    expect(await service.verify(key)).toMatchObject({ code: 'VALID', roles: ['broken', 'fine'], permissions: all });
  });
});

describe('a role that cannot be read', () => {
  test('has its name: another of that name is a conflict', async () => {
    expect(await refusedBy(service, '/v1/permissions.createRole', { name: 'broken' })).toEqual({
      status: 409,
      code: 'CONFLICT',
      message: 'A role with the name "broken" exists already.',
    });
  });

  test('is left out of the list, and says what is wrong when it is asked for', async () => {
    expect((await service.ok('/v1/permissions.listRoles', {})).map(({ name }: { name: string }) => name)).toEqual([
      'fine',
    ]);
    expect(await refusedBy(service, '/v1/permissions.getRole', { roleId })).toEqual(unreadableRole());
  });

  test.each([
    ['keys.createKey', () => ({ apiId, roles: ['broken'] })],
    ['keys.updateKey', () => ({ keyId, roles: [{ name: 'broken' }] })],
    ['keys.addRoles', () => ({ keyId, roles: [{ id: roleId }] })],
    ['keys.setRoles', () => ({ keyId, roles: [{ name: 'broken', create: true }] })],
  ])('is given to nobody: %s', async (path, body) => {
    expect(await refusedBy(service, `/v1/${path}`, body())).toEqual(unreadableRole());
  });
});

test('an api that cannot be read is left out of the list, not the list', async () => {
  const bad = await service.createApi();
  damage("UPDATE apis SET default_limit = 'nonsense' WHERE id = ?", bad);
  const { apis } = await service.ok('/v1/apis.listApis', {});
  const ids = (apis as { id: string }[]).map(({ id }) => id).filter((id) => [apiId, bad].includes(id));
  expect(ids).toEqual([apiId]);
});
