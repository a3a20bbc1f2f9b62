import type { Issue } from '../../core/errors.ts';
import type { RoleReference } from '../../engine/admin/permissions.ts';
import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { RoleId } from '../shapes/schema/commonFields.ts';
import { HeldPermissions, PermissionReferences, RoleName, toReferences } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const setRolePermissions = defineRoute({
  path: '/v1/permissions.setRolePermissions',
  method: 'POST',
  summary: 'Replace the permissions of a role, and return them.',
  description:
    'Every key with the role has them from then on. With `create`, a permission that does not exist is made; that needs `rbac.*.create_permission`.',
  rights: ['rbac.*.add_permission_to_role', 'rbac.*.remove_permission_from_role'],
  command: { name: 'role set-permissions' },
  request: strict({
    roleId: optional(RoleId, 'The id of the role. Give either `roleId` or `name`.'),
    name: optional(RoleName, 'The name of the role, 1 to 512 characters. Give either `roleId` or `name`.'),
    permissions: field(
      PermissionReferences,
      'The permissions that the role has from now on, at most 1000. `[]` removes all.',
    ),
  }),
  response: HeldPermissions,
  example: {
    request: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux', permissions: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T' }] },
    response: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T', name: 'Read documents' }],
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { permissions, ...named }) {
    const issues: Issue[] = [];
    const role = toRoleReference(named, issues);
    const references = toReferences(permissions, 'permissions', issues);
    return engine.permissions.setRolePermissions(actor, role, references);
  },
});

/** When there are issues, the result is not used. */
function toRoleReference({ roleId, name }: { roleId?: string; name?: string }, issues: Issue[]): RoleReference {
  if (roleId === undefined && name === undefined)
    issues.push({ path: 'roleId', message: 'give roleId or the name of the role' });
  if (roleId !== undefined && name !== undefined)
    issues.push({ path: 'name', message: 'give either roleId or name, not both' });
  return roleId === undefined ? { name: name ?? '' } : { id: roleId };
}
