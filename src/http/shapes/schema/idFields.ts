import { EXAMPLE } from '../../../model/schema/examples.ts';
import { field } from '../../../model/schema/described.ts';
import { Id } from '../../../model/schema/schemas.ts';

/** The ids of records, wherever a request or an answer has one. */

export const ApiId = field(Id, 'The id of an api, as `apis.createApi` answers it.', EXAMPLE.apiId);
export const KeyId = field(
  Id,
  'The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown.',
  EXAMPLE.keyId,
);
export const IdentityId = field(
  Id,
  'The id of an identity, as `identities.createIdentity` answers it.',
  EXAMPLE.identityId,
);
export const PermissionId = field(
  Id,
  'The id of a permission, as `permissions.createPermission` answers it.',
  EXAMPLE.permissionId,
);
export const RoleId = field(Id, 'The id of a role, as `permissions.createRole` answers it.', EXAMPLE.roleId);
export const PlanId = field(Id, 'The id of a plan, as `plans.createPlan` answers it.', EXAMPLE.planId);
export const RootKeyId = field(
  Id,
  'The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret.',
  EXAMPLE.rootKeyId,
);
export const NamespaceId = field(
  Id,
  'The id of a namespace of standalone limits. `ratelimits.listOverrides` answers it for a name.',
  EXAMPLE.namespaceId,
);
export const OverrideId = field(Id, 'The id of an override.', EXAMPLE.overrideId);
export const WorkspaceId = field(
  Id,
  'The id of this installation. It is the same in every answer.',
  EXAMPLE.workspaceId,
);
export const RequestId = field(
  Id,
  'The id of this request. The log and the audit log of the service name the request by it.',
  EXAMPLE.requestId,
);
export const ReservationId = field(
  Id,
  'The id of a reservation, as `reservations.create` answers it.',
  EXAMPLE.reservationId,
);
export const MigrationId = field(
  Id,
  'An id of your choice, 1 to 128 characters. Calls of `migrations.enqueueKeys` with the same id are one migration, which belongs to one api.',
  'from-the-old-service',
);
