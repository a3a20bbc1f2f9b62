import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { RoleId } from '../shapes/schema/commonFields.ts';
import { HeldPermissions, RoleObject, toRoleObject } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getRole = defineRoute({
  path: '/v1/permissions.getRole',
  method: 'GET',
  summary: 'Read one role and its permissions.',
  rights: ['rbac.*.read_role'],
  command: { name: 'role get' },
  request: strict({ roleId: RoleId }),
  response: strict({
    ...RoleObject.properties,
    permissions: field(HeldPermissions, 'The permissions of the role, sorted by name.'),
  }),
  example: {
    request: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux' },
    response: {
      id: 'role_1Jm8Zta6oTt8JmM2wVz5Ux',
      name: 'editor',
      description: 'May read and write documents',
      permissions: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T', name: 'documents.read' }],
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { roleId }) {
    const { role, permissions } = await engine.permissions.getRole(actor, roleId);
    return { ...toRoleObject(role), permissions };
  },
});
