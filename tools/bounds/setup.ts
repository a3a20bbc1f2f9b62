import {
  MAX_EFFECTIVE_PERMISSIONS,
  MAX_PATTERNS_PER_NAMESPACE,
  MAX_PERMISSIONS_PER_KEY,
  MAX_STARS_PER_PATTERN,
} from '../../src/core/bounds.ts';
import { TestService } from '../../test/support/service.ts';

export const NAMESPACE = 'bounds';
/** Overrides that are created at one time. */
const STEP = 500;

/** What the inputs name: a key with as many permissions as possible, all of them wildcards, and its api. */
export interface Targets {
  readonly apiId: string;
  readonly key: string;
}

/** A service that stores as much as it can for one key and one namespace. */
export interface Setup {
  readonly service: TestService;
  readonly targets: Targets;
}

export async function makeSetup(): Promise<Setup> {
  // Work gives way by the real clock.
  const service = await TestService.start({
    monotonicMs: () => performance.now(),
    settings: {
      KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND: '1000000',
      KEYSTILE_MAX_MANAGEMENT_BYTES_PER_SECOND: '1000000000000',
    },
  });
  const { apiId, keyId, key } = await service.createKey();
  const wildcard = (i: number): object => ({ name: `documents.*.part${i}.read`, create: true });
  const own = Array.from({ length: MAX_PERMISSIONS_PER_KEY }, (_, i) => wildcard(i));
  await service.ok('/v1/keys.setPermissions', { keyId, permissions: own });
  const { roleId } = (await service.ok('/v1/permissions.createRole', { name: 'bounds' })) as { roleId: string };
  const ofRole = Array.from({ length: MAX_EFFECTIVE_PERMISSIONS - own.length }, (_, i) => wildcard(own.length + i));
  await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions: ofRole });
  await service.ok('/v1/keys.setRoles', { keyId, roles: [{ id: roleId }] });
  await service.ok('/v1/ratelimits.limit', { namespace: NAMESPACE, identifier: 'first', limit: 1, duration: 1000 });
  for (let i = 0; i < MAX_PATTERNS_PER_NAMESPACE; i += STEP) {
    await Promise.all(Array.from({ length: STEP }, (_, j) => setOverride(service, i + j)));
  }
  return { service, targets: { apiId, key } };
}

/** A pattern that almost matches: the comparison fails only at its last star but one. */
function setOverride(service: TestService, number: number): Promise<unknown> {
  const identifier = `${'*a'.repeat(MAX_STARS_PER_PATTERN - 2)}*x${number}*`;
  return service.ok('/v1/ratelimits.setOverride', { namespaceName: NAMESPACE, identifier, limit: 1, duration: 1000 });
}
