import { Type } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import type { RoleReference } from '../../engine/admin/rbac/permissionAdmin.ts';
import { NamedObjects, toReferences } from '../shapes/permissionObject.ts';
import { defineRoute } from './route.ts';
import { Id, PermissionName, PermissionReferences, strict } from '../shapes/schemas.ts';

export const setRolePermissions = defineRoute({
  path: '/v1/permissions.setRolePermissions',
  method: 'POST',
  summary:
    'Set all permissions of a role, and answer them. Every key that has the role has them from the answer on; `create` makes what does not exist, and needs `rbac.*.create_permission` then.',
  rights: ['rbac.*.add_permission_to_role', 'rbac.*.remove_permission_from_role'],
  request: strict({
    roleId: Type.Optional(Id),
    name: Type.Optional(PermissionName),
    permissions: PermissionReferences,
  }),
  response: NamedObjects,
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

/** What is given with an issue is not used. */
function toRoleReference({ roleId, name }: { roleId?: string; name?: string }, issues: Issue[]): RoleReference {
  if (roleId === undefined && name === undefined)
    issues.push({ path: 'roleId', message: 'roleId or name of the role is missing' });
  if (roleId !== undefined && name !== undefined)
    issues.push({ path: 'name', message: 'the role is given by roleId or by name, not by both' });
  return roleId === undefined ? { name: name ?? '' } : { id: roleId };
}
