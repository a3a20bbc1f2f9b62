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

/** For plans: what a plan gives, it gives to keys. */
export const NEW_PLAN_RIGHTS: readonly FieldRights[] = NEW_KEY_RIGHTS.slice(1);
export const CHANGED_PLAN_RIGHTS: readonly FieldRights[] = CHANGED_KEY_RIGHTS.slice(1);

/** For what is done to a key or to an identity, whichever the request names. */
export const HOLDER_RIGHTS: readonly FieldRights[] = [
  { fields: ['keyId'], rights: ['api.<apiId>.update_key'] },
  { fields: ['identityId', 'externalId'], rights: ['identity.<identityId>.update_identity'] },
];

function ownerRights(unless: string): FieldRights {
  return { fields: ['externalId', 'ownerId'], rights: ['identity.*.create_identity'], unless };
}
