import { type Fence, NO_FENCES, permissionFence, recordFence } from '../../core/fence.ts';
import { grantsFor, NO_PERMISSIONS, type PermissionQuery } from '../../core/permissions.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { accountOf } from '../cache/accountOf.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { Counting } from './counting.ts';

/**
 * The records that decided a verification, except those whose revision a charge of its spend names: every account carries the revision
 * of its record. Most keys have counters of their own and need no fence.
 */
export function fencesOf(counting: Counting): readonly Fence[] {
  const { entry, request, strict } = counting;
  const { credits, sharedCredits, identity, plan } = entry;
  const key = credits !== null || strict.some((limit) => !limit.ofIdentity && hasAccount(entry, limit));
  if (key && identity === null && plan === null && request.permissions === null) return NO_FENCES;
  const ofIdentity = strict.some((limit) => limit.ofIdentity && hasAccount(entry, limit));
  return fencesBeside(counting, {
    key,
    identity: ofIdentity || sharedCredits !== null,
  });
}

/** All records that decided a verification, for a spend without charges. */
export function everyFenceOf(counting: Counting): readonly Fence[] {
  return fencesBeside(counting, { key: false, identity: false });
}

function fencesBeside({ entry, request }: Counting, isNamed: { key: boolean; identity: boolean }): readonly Fence[] {
  const { identity } = entry;
  const plan = entry.plan ?? identity?.plan ?? null;
  const fences: Fence[] = [];
  if (!isNamed.key) fences.push(recordFence('key', entry.id, entry.revision));
  if (identity !== null && !isNamed.identity) fences.push(recordFence('identity', identity.id, identity.revision));
  if (plan !== null) fences.push(plan.fence);
  if (request.permissions !== null) fences.push(...permissionFences(entry, request.permissions));
  return fences;
}

/** False for an ad-hoc limit and for one of a plan: their windows belong to no record. */
function hasAccount(entry: KeyEntry, limit: AppliedLimit): boolean {
  return accountOf(entry, limit) !== null;
}

/** The permissions that let the key pass, and the roles that brought them. */
function permissionFences(entry: KeyEntry, query: PermissionQuery): Fence[] {
  const held = entry.extras?.permissions?.held ?? NO_PERMISSIONS;
  return grantsFor(held, query).flatMap(({ permissionId, role }) => [
    permissionFence(permissionId),
    ...(role === null ? [] : [recordFence('role', role.id, role.revision)]),
  ]);
}
