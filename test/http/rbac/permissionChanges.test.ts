import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
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

test('a stored role that cannot be read harms its own keys only', async () => {
  const { roleId } = await service.ok('/v1/permissions.createRole', { name: 'broken' });
  const apiId = await service.createApi();
  const harmed = await service.createKey({ apiId, roles: ['broken'] });
  const fine = await service.createKey({ apiId, roles: ['fine'] });
  await service.stop();
  const db = new Database(`${service.folder}/keystile.db`);
  db.query('UPDATE roles SET permissions = ? WHERE id = ?').run('{}', roleId);
  db.close();
  await service.open();
  const ask = (key: string) => service.call('/v1/keys.verifyKey', { key }, { rootKey: null });
  const [bad, good] = await Promise.all([ask(harmed.key), ask(fine.key)]);
  expect([bad.status, bad.body.error.message]).toEqual([
    500,
    `The stored key ${harmed.keyId} cannot be read: ${roleId}: permissions cannot be read.`,
  ]);
  expect([good.status, good.body.code]).toEqual([200, 'VALID']);
});
