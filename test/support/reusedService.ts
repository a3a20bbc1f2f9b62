import { afterAll, beforeEach } from 'bun:test';

import { TestService, type TestServiceOptions } from './service.ts';

/**
 * One service for the tests of a file, because a start takes longer than most tests. Each test makes its own apis and
 * keys, and finds no role, permission or identity of an earlier test. A test that moved the clock or broke the service
 * leaves a new service to the next test.
 */
export function reuseService(options: TestServiceOptions = {}): () => TestService {
  let service: TestService | null = null;
  let startedAtMs = 0;

  const canBeReused = (used: TestService): boolean => used.clock.nowMs() === startedAtMs && used.broken.length === 0;

  beforeEach(async () => {
    if (service !== null && canBeReused(service)) return deleteNamedRecords(service);
    await service?.close();
    service = await TestService.start(options);
    startedAtMs = service.clock.nowMs();
  });

  afterAll(() => service?.close());

  return () => {
    if (service === null) throw new Error('no test has begun');
    return service;
  };
}

/** What is found by its name, which the next test may want to use. */
async function deleteNamedRecords(service: TestService): Promise<void> {
  const roles = (await service.ok('/v1/permissions.listRoles', {})) as { id: string }[];
  for (const { id } of roles) await service.ok('/v1/permissions.deleteRole', { roleId: id });
  const permissions = (await service.ok('/v1/permissions.listPermissions', {})) as { id: string }[];
  for (const { id } of permissions) await service.ok('/v1/permissions.deletePermission', { permissionId: id });
  const { identities } = (await service.ok('/v1/identities.listIdentities', {})) as { identities: { id: string }[] };
  for (const { id } of identities) await service.ok('/v1/identities.deleteIdentity', { identityId: id });
}
