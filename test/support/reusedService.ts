import { Database } from 'bun:sqlite';
import { afterAll, beforeEach } from 'bun:test';
import { join } from 'node:path';

import { TestService, type TestServiceOptions } from './service.ts';

const DAY_MS = 86_400_000;

/** Records that are found by their name, which the next test may want to use, and how each is deleted. */
const NAMED = [
  ['roles', '/v1/permissions.deleteRole', (roleId: string) => ({ roleId })],
  ['permissions', '/v1/permissions.deletePermission', (permissionId: string) => ({ permissionId })],
  ['identities', '/v1/identities.deleteIdentity', (identityId: string) => ({ identityId, keys: 'disable' })],
] as const;

/**
 * One service for the tests of a file, because a start takes longer than most tests. Each test makes its own apis and
 * keys, and finds no role, permission or identity of an earlier test. The clock goes only forward: after a test that
 * moved it, the next one begins on a later day, at the same time of day. A test that stopped or broke the service leaves a new one
 * to the next test.
 */
export function reuseService(options: TestServiceOptions = {}): () => TestService {
  let service: TestService | null = null;
  let beganAtMs = 0;

  beforeEach(async () => {
    if (service === null || !service.isWhole) {
      await service?.close();
      service = await TestService.start(options);
    } else {
      const daysPassed = Math.max(0, Math.ceil((service.clock.nowMs() - beganAtMs) / DAY_MS));
      service.clock.set(beganAtMs + daysPassed * DAY_MS);
      await deleteNamedRecords(service);
    }
    beganAtMs = service.clock.nowMs();
  });

  afterAll(() => service?.close());

  return () => {
    if (service === null) throw new Error('no test has begun');
    return service;
  };
}

async function deleteNamedRecords(service: TestService): Promise<void> {
  const db = new Database(join(service.folder, 'keystile.db'), { readonly: true });
  const found = NAMED.map(([table, path, body]) => {
    const ids = db.query(`SELECT id FROM ${table}`).values() as [string][];
    return ids.map(([id]) => [path, body(id)] as const);
  });
  db.close();
  for (const [path, body] of found.flat()) await service.ok(path, body);
}
