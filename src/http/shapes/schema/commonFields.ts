import { Type } from 'typebox';

import { MAX_COUNT, MAX_PAGE_SIZE } from '../../../core/bounds.ts';
import { repeatable } from '../../../core/errors.ts';
import { badFields } from './badFields.ts';
import { field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { Id, Text, Whole } from '../../../model/schema/schemas.ts';

export const ApiId = field(Id, 'The id of an api, as returned by `apis.createApi`.', EXAMPLE.apiId);
export const KeyId = field(
  Id,
  'The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown.',
  EXAMPLE.keyId,
);
export const IdentityId = field(
  Id,
  'The id of a customer, as returned by `identities.createIdentity`.',
  EXAMPLE.identityId,
);
export const PermissionId = field(
  Id,
  'The id of a permission, as returned by `permissions.createPermission`.',
  EXAMPLE.permissionId,
);
export const RoleId = field(Id, 'The id of a role, as returned by `permissions.createRole`.', EXAMPLE.roleId);
export const PlanId = field(Id, 'The id of a plan, as returned by `plans.createPlan`.', EXAMPLE.planId);
export const RootKeyId = field(
  Id,
  'The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret.',
  EXAMPLE.rootKeyId,
);
export const NamespaceId = field(
  Id,
  'The id of a namespace of standalone limits. `ratelimits.listOverrides` returns it for a name.',
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
  'The id of a reservation, as returned by `reservations.create`.',
  EXAMPLE.reservationId,
);
export const MigrationId = field(
  Id,
  'An id of your choice, 1 to 128 characters. Calls of `migrations.enqueueKeys` with the same id are one migration, which belongs to one api.',
  'from-the-old-service',
);

export const PageLimit = optional(
  Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE }),
  'The largest number of records in the answer, from 1 to 100. 100 when absent.',
  10,
);

export function pageCursor<const S extends Type.TSchema>(schema: S, example: string) {
  return optional(
    schema,
    'The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page.',
    example,
  );
}

export function nextCursor(example: string) {
  return optional(
    Text,
    'Send it as `cursor` with the next call to get the next page. Absent on the last page.',
    example,
  );
}

export const Total = field(Whole, 'The exact number of records on all pages together, at the time of this call.', 2);

/** Rights that some fields of a request need, in addition to those of the route. */
export interface FieldRights {
  readonly fields: readonly string[];
  readonly rights: readonly string[];
  /** A root key with this right does not need the others. */
  readonly unless?: string;
}

/** For new keys. */
export const NEW_KEY_RIGHTS: readonly FieldRights[] = [
  ownerRights('api.*.create_key'),
  { fields: ['roles'], rights: ['rbac.*.add_role_to_key'] },
  { fields: ['permissions'], rights: ['rbac.*.add_permission_to_key'] },
];

/** For existing keys, whose roles and permissions are replaced. */
export const CHANGED_KEY_RIGHTS: readonly FieldRights[] = [
  ownerRights('api.*.update_key'),
  { fields: ['roles'], rights: ['rbac.*.add_role_to_key', 'rbac.*.remove_role_from_key'] },
  { fields: ['permissions'], rights: ['rbac.*.add_permission_to_key', 'rbac.*.remove_permission_from_key'] },
];

/** For plans: their roles and permissions are given to keys, so they need the same rights. */
export const NEW_PLAN_RIGHTS: readonly FieldRights[] = NEW_KEY_RIGHTS.slice(1);
export const CHANGED_PLAN_RIGHTS: readonly FieldRights[] = CHANGED_KEY_RIGHTS.slice(1);

/** For what is done to a key or to a customer, whichever the request names. */
export const HOLDER_RIGHTS: readonly FieldRights[] = [
  { fields: ['keyId'], rights: ['api.<apiId>.update_key'] },
  { fields: ['identityId', 'externalId'], rights: ['identity.<identityId>.update_identity'] },
];

function ownerRights(unless: string): FieldRights {
  return { fields: ['externalId', 'ownerId'], rights: ['identity.*.create_identity'], unless };
}

/** The cursor of a list of events is the sequence of one. */
export function toSequence(cursor: string): number {
  const sequence = /^\d{1,16}$/.test(cursor) ? Number(cursor) : NaN;
  if (sequence <= MAX_COUNT) return sequence;
  throw badFields([
    { path: 'cursor', message: `cursor must be the cursor of an earlier answer, got ${repeatable(cursor)}` },
  ]);
}
