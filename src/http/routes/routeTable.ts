import { MAX_BODY_BYTES, MAX_VERIFY_BATCH_BODY_BYTES, MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { getVerifications } from './analytics.getVerifications.ts';
import { createApi } from './apis.createApi.ts';
import { deleteApi } from './apis.deleteApi.ts';
import { deleteKeys } from './apis.deleteKeys.ts';
import { getApi } from './apis.getApi.ts';
import { listApis } from './apis.listApis.ts';
import { listKeys } from './apis.listKeys.ts';
import { updateApi } from './apis.updateApi.ts';
import { listEntries } from './audit.listEntries.ts';
import { adjustCredits } from './credits.adjust.ts';
import { grantCredits } from './credits.grant.ts';
import { listEvents } from './events.listEvents.ts';
import { createIdentity } from './identities.createIdentity.ts';
import { deleteIdentity } from './identities.deleteIdentity.ts';
import { getIdentity } from './identities.getIdentity.ts';
import { listIdentities } from './identities.listIdentities.ts';
import { updateIdentity } from './identities.updateIdentity.ts';
import { addPermissions } from './keys.addPermissions.ts';
import { addRoles } from './keys.addRoles.ts';
import { createKey } from './keys.createKey.ts';
import { createKeys } from './keys.createKeys.ts';
import { deleteKey } from './keys.deleteKey.ts';
import { forwardAuth } from './keys.forwardAuth.ts';
import { getKey } from './keys.getKey.ts';
import { getKeyVerifications } from './keys.getVerifications.ts';
import { removePermissions } from './keys.removePermissions.ts';
import { removeRoles } from './keys.removeRoles.ts';
import { restoreKey } from './keys.restoreKey.ts';
import { rotateKey } from './keys.rotateKey.ts';
import { setPermissions } from './keys.setPermissions.ts';
import { setRoles } from './keys.setRoles.ts';
import { updateKey } from './keys.updateKey.ts';
import { updateRemaining } from './keys.updateRemaining.ts';
import { verifyKey } from './keys.verifyKey.ts';
import { verifyKeys } from './keys.verifyKeys.ts';
import { whoami } from './keys.whoami.ts';
import { createImportedKeys } from './migrations.createKeys.ts';
import { enqueueKeys } from './migrations.enqueueKeys.ts';
import { getProgress } from './migrations.getProgress.ts';
import { createPermission } from './permissions.createPermission.ts';
import { createRole } from './permissions.createRole.ts';
import { deletePermission } from './permissions.deletePermission.ts';
import { deleteRole } from './permissions.deleteRole.ts';
import { getPermission } from './permissions.getPermission.ts';
import { getRole } from './permissions.getRole.ts';
import { listPermissions } from './permissions.listPermissions.ts';
import { listRoles } from './permissions.listRoles.ts';
import { setRolePermissions } from './permissions.setRolePermissions.ts';
import { assignPlan } from './plans.assign.ts';
import { createPlan } from './plans.createPlan.ts';
import { deletePlan } from './plans.deletePlan.ts';
import { getPlan } from './plans.getPlan.ts';
import { listPlans } from './plans.listPlans.ts';
import { updatePlan } from './plans.updatePlan.ts';
import { createPortalSession } from './portal.createSession.ts';
import { endPortalSessions } from './portal.endSessions.ts';
import { deleteOverride } from './ratelimits.deleteOverride.ts';
import { getOverride } from './ratelimits.getOverride.ts';
import { limit } from './ratelimits.limit.ts';
import { listOverrides } from './ratelimits.listOverrides.ts';
import { multiLimit } from './ratelimits.multiLimit.ts';
import { setOverride } from './ratelimits.setOverride.ts';
import { createReservation } from './reservations.create.ts';
import { getReservation } from './reservations.get.ts';
import { listReservations } from './reservations.list.ts';
import { releaseReservation } from './reservations.release.ts';
import { settleReservation } from './reservations.settle.ts';
import { createRootKey } from './rootKeys.createRootKey.ts';
import { listRootKeys } from './rootKeys.listRootKeys.ts';
import { revokeRootKey } from './rootKeys.revokeRootKey.ts';
import { rotateRootKey } from './rootKeys.rotateRootKey.ts';
import type { Route } from './route.ts';
import { getStatus } from './service.getStatus.ts';
import { endSession } from './sessions.endSession.ts';
import { listSessions } from './sessions.listSessions.ts';
import { getStatement } from './usage.getStatement.ts';
import { createWebhook } from './webhooks.createWebhook.ts';
import { deleteWebhook } from './webhooks.deleteWebhook.ts';
import { getWebhook } from './webhooks.getWebhook.ts';
import { listDeliveries } from './webhooks.listDeliveries.ts';
import { listWebhooks } from './webhooks.listWebhooks.ts';
import { redeliver } from './webhooks.redeliver.ts';
import { rotateSecret } from './webhooks.rotateSecret.ts';
import { sendTest } from './webhooks.sendTest.ts';
import { updateWebhook } from './webhooks.updateWebhook.ts';

/**
 * Every management endpoint. keys.verifyKey, reservations.create, liveness and readiness are not in this table, because they need no root
 * key.
 */
export const ROUTES: readonly Route[] = [
  createApi,
  getApi,
  listApis,
  listKeys,
  createKey,
  createKeys,
  getKey,
  updateKey,
  updateRemaining,
  grantCredits,
  adjustCredits,
  deleteKey,
  deleteApi,
  deleteKeys,
  updateApi,
  createIdentity,
  deleteIdentity,
  getIdentity,
  listIdentities,
  updateIdentity,
  createPlan,
  getPlan,
  listPlans,
  updatePlan,
  deletePlan,
  assignPlan,
  restoreKey,
  rotateKey,
  whoami,
  addPermissions,
  setPermissions,
  removePermissions,
  addRoles,
  setRoles,
  removeRoles,
  createPermission,
  deletePermission,
  getPermission,
  listPermissions,
  createRole,
  deleteRole,
  getRole,
  listRoles,
  setRolePermissions,
  createImportedKeys,
  enqueueKeys,
  getProgress,
  createRootKey,
  listRootKeys,
  revokeRootKey,
  rotateRootKey,
  listSessions,
  createPortalSession,
  endPortalSessions,
  endSession,
  getStatus,
  listEntries,
  listEvents,
  createWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
  deleteWebhook,
  rotateSecret,
  listDeliveries,
  redeliver,
  sendTest,
  settleReservation,
  releaseReservation,
  getReservation,
  listReservations,
  limit,
  multiLimit,
  setOverride,
  getOverride,
  listOverrides,
  deleteOverride,
  getVerifications,
  getKeyVerifications,
  getStatement,
];

const OTHERS: ReadonlyMap<string, number> = new Map([
  [verifyKey.path, MAX_VERIFY_BODY_BYTES],
  // Ignored. A longer one is not waited for: the answer closes the connection.
  [forwardAuth.path, MAX_VERIFY_BODY_BYTES],
  [createReservation.path, MAX_VERIFY_BODY_BYTES],
  [verifyKeys.path, MAX_VERIFY_BATCH_BODY_BYTES],
  ...ROUTES.flatMap(({ path, maxBodyBytes }) => (maxBodyBytes === undefined ? [] : [[path, maxBodyBytes] as const])),
]);

/** The longest body that the route of this path and query accepts. An unknown route has a limit too. */
export function maxBodyBytesOf(target: string): number {
  return OTHERS.get(pathOf(new URL(`http://keystile${target}`))) ?? MAX_BODY_BYTES;
}

/** The path that a route is found by. A base URL with a trailing slash gives //v1/... */
export function pathOf({ pathname }: URL): string {
  return pathname.replace(/^\/{2,}/, '/');
}
