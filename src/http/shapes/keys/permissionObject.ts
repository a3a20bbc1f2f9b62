import { Type } from 'typebox';

import { MAX_PERMISSIONS_PER_KEY, MAX_ROLES_PER_KEY } from '../../../core/bounds.ts';
import type { Issue } from '../../../core/errors.ts';
import { PERMISSION_PLAIN, type PermissionRecord, ROLE_PLAIN, type RoleRecord } from '../../../model/access.ts';
import { parsePlain, part, type Plain, showPlain } from '../../../model/plainFields.ts';
import type { RbacReference } from '../../../engine/admin/permissions.ts';
import { badFields, checkedReferences, told } from '../schema/badFields.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { PermissionId, RoleId } from '../schema/commonFields.ts';
import { Id, PermissionName, strict, Text } from '../../../model/schema/schemas.ts';

export const RoleName = field(PermissionName, 'The name of the role, 1 to 512 characters. It is unique.', 'editor');

export const PermissionObject = component(
  'Permission',
  strict({
    id: PermissionId,
    name: field(Text, 'The name of the permission, for people.', 'Read documents'),
    slug: field(Text, 'What verifications ask for. It equals the name when none was given.', 'documents.read'),
    ...part(PERMISSION_PLAIN, 'shown'),
  }),
  'A permission: something that a key may do in your service.',
  { id: EXAMPLE.permissionId, name: 'Read documents', slug: 'documents.read' },
);

export const RoleObject = component(
  'Role',
  strict({
    id: RoleId,
    name: field(Text, 'The name of the role.', 'editor'),
    ...part(ROLE_PLAIN, 'shown'),
  }),
  'A role: a named set of permissions that keys get and lose together.',
  { id: EXAMPLE.roleId, name: 'editor' },
);

const PermissionReference = component(
  'PermissionReference',
  strict({ id: PermissionId, name: field(Text, 'The name of the permission.', 'Read documents') }),
  'A permission that a key or a role has.',
  { id: EXAMPLE.permissionId, name: 'Read documents' },
);

const RoleReference = component(
  'RoleReference',
  strict({ id: RoleId, name: field(Text, 'The name of the role.', 'editor') }),
  'A role that a key has.',
  { id: EXAMPLE.roleId, name: 'editor' },
);

/** The permissions that a key or role has after a change. */
export const HeldPermissions = listOf(PermissionReference, 'All permissions that are held directly, sorted by name.');

/** The roles that a key has after a change. */
export const HeldRoles = listOf(RoleReference, 'All roles of the key, sorted by name.');

const FIRST_COUNTS = 'If a reference has several of `id`, `slug` and `name`, the first of these counts.';
const Create = optional(
  Type.Boolean(),
  'true: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is never created. false when absent: one that does not exist answers 404.',
  true,
);

const ROLE = {
  id: optional(Id, 'The id of the role. Give an `id` or a `name`; the `id` takes precedence.', EXAMPLE.roleId),
  name: optional(PermissionName, 'The name of the role, 1 to 512 characters.', 'editor'),
};

const PERMISSION = {
  id: optional(Id, `The id of the permission. ${FIRST_COUNTS}`, EXAMPLE.permissionId),
  name: optional(PermissionName, 'The name or the slug of the permission, 1 to 512 characters.', 'documents.read'),
  slug: optional(PermissionName, 'The slug of the permission, 1 to 512 characters.', 'documents.read'),
};

/** Roles and permissions by id or name; permissions also by slug. `create` creates what does not exist. */
export const RoleReferences = listOf(
  component('RoleToGive', strict({ ...ROLE, create: Create }), 'A role, by its id or its name.', { name: 'editor' }),
  'The roles, at most 100.',
  { maxItems: MAX_ROLES_PER_KEY },
);

export const PermissionReferences = listOf(
  component(
    'PermissionToGive',
    strict({ ...PERMISSION, create: Create }),
    'A permission, by its id, its slug or its name.',
    { name: 'documents.read' },
  ),
  'The permissions, at most 1000.',
  { maxItems: MAX_PERMISSIONS_PER_KEY },
);

/** References for removal have no `create`. */
export const RoleReferencesToRemove = listOf(
  component('RoleToRemove', strict(ROLE), 'A role, by its id or its name.', { name: 'editor' }),
  'The roles that the key loses, at most 100. One that the key does not have is ignored.',
  { maxItems: MAX_ROLES_PER_KEY },
);

export const PermissionReferencesToRemove = listOf(
  component('PermissionToRemove', strict(PERMISSION), 'A permission, by its id, its slug or its name.', {
    name: 'documents.read',
  }),
  'The permissions that the key loses, at most 1000. One that the key does not have is ignored.',
  { maxItems: MAX_PERMISSIONS_PER_KEY },
);

export function toPermissionObject(permission: PermissionRecord): object {
  const { id, name, slug } = permission;
  return { id, name, slug, ...showPlain(PERMISSION_PLAIN, permission) };
}

export function toRoleObject(role: RoleRecord): object {
  return { id: role.id, name: role.name, ...showPlain(ROLE_PLAIN, role) };
}

/** The fields of a role or a permission that decide nothing. */
export function toPlain<R>(fields: Readonly<Record<keyof R & string, Plain>>, request: object): Partial<R> {
  const issues: Issue[] = [];
  const plain = parsePlain<R>(fields, request, told(issues));
  if (issues.length > 0) throw badFields(issues);
  return plain;
}

/** Each reference has an id or a name. Problems are reported together with `issues`. */
export function toReferences(
  list: readonly RbacReference[],
  path: 'permissions' | 'roles',
  issues: Issue[] = [],
): readonly RbacReference[] {
  checkedReferences(list, path, issues);
  if (issues.length > 0) throw badFields(issues);
  return list;
}
