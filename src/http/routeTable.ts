import type { Route } from './route.ts';
import { createApi } from './routes/apis.createApi.ts';
import { getApi } from './routes/apis.getApi.ts';
import { listApis } from './routes/apis.listApis.ts';
import { listKeys } from './routes/apis.listKeys.ts';
import { createKey } from './routes/keys.createKey.ts';
import { deleteKey } from './routes/keys.deleteKey.ts';
import { getKey } from './routes/keys.getKey.ts';
import { updateKey } from './routes/keys.updateKey.ts';
import { updateRemaining } from './routes/keys.updateRemaining.ts';
import { deleteApi } from './routes/apis.deleteApi.ts';
import { deleteKeys } from './routes/apis.deleteKeys.ts';
import { updateApi } from './routes/apis.updateApi.ts';
import { createIdentity } from './routes/identities.createIdentity.ts';
import { deleteIdentity } from './routes/identities.deleteIdentity.ts';
import { getIdentity } from './routes/identities.getIdentity.ts';
import { listIdentities } from './routes/identities.listIdentities.ts';
import { updateIdentity } from './routes/identities.updateIdentity.ts';
import { restoreKey } from './routes/keys.restoreKey.ts';
import { rotateKey } from './routes/keys.rotateKey.ts';
import { whoami } from './routes/keys.whoami.ts';
import { addPermissions } from './routes/keys.addPermissions.ts';
import { setPermissions } from './routes/keys.setPermissions.ts';
import { removePermissions } from './routes/keys.removePermissions.ts';
import { addRoles } from './routes/keys.addRoles.ts';
import { setRoles } from './routes/keys.setRoles.ts';
import { removeRoles } from './routes/keys.removeRoles.ts';
import { createPermission } from './routes/permissions.createPermission.ts';
import { deletePermission } from './routes/permissions.deletePermission.ts';
import { getPermission } from './routes/permissions.getPermission.ts';
import { listPermissions } from './routes/permissions.listPermissions.ts';
import { createRole } from './routes/permissions.createRole.ts';
import { deleteRole } from './routes/permissions.deleteRole.ts';
import { getRole } from './routes/permissions.getRole.ts';
import { listRoles } from './routes/permissions.listRoles.ts';
import { setRolePermissions } from './routes/permissions.setRolePermissions.ts';
import { createImportedKeys } from './routes/migrations.createKeys.ts';
import { enqueueKeys } from './routes/migrations.enqueueKeys.ts';
import { getProgress } from './routes/migrations.getProgress.ts';
import { createRootKey } from './routes/rootKeys.createRootKey.ts';
import { listRootKeys } from './routes/rootKeys.listRootKeys.ts';
import { revokeRootKey } from './routes/rootKeys.revokeRootKey.ts';
import { rotateRootKey } from './routes/rootKeys.rotateRootKey.ts';
import { listEvents } from './routes/audit.listEvents.ts';
import { limit } from './routes/ratelimits.limit.ts';
import { multiLimit } from './routes/ratelimits.multiLimit.ts';
import { setOverride } from './routes/ratelimits.setOverride.ts';
import { getOverride } from './routes/ratelimits.getOverride.ts';
import { listOverrides } from './routes/ratelimits.listOverrides.ts';
import { deleteOverride } from './routes/ratelimits.deleteOverride.ts';
import { getVerifications } from './routes/analytics.getVerifications.ts';
import { getKeyVerifications } from './routes/keys.getVerifications.ts';

/** Every management endpoint. keys.verifyKey, liveness and readiness need no root key and stand beside it. */
export const ROUTES: readonly Route[] = [
  createApi,
  getApi,
  listApis,
  listKeys,
  createKey,
  getKey,
  updateKey,
  updateRemaining,
  deleteKey,
  deleteApi,
  deleteKeys,
  updateApi,
  createIdentity,
  deleteIdentity,
  getIdentity,
  listIdentities,
  updateIdentity,
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
  listEvents,
  limit,
  multiLimit,
  setOverride,
  getOverride,
  listOverrides,
  deleteOverride,
  getVerifications,
  getKeyVerifications,
];
