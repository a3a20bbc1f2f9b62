import { RoleObject, toRoleObject } from '../permissionObject.ts';
import { defineRoute } from '../route.ts';
import { Id, strict } from '../schemas.ts';

export const getRole = defineRoute({
  path: '/v1/permissions.getRole',
  method: 'GET',
  summary: 'Read one role.',
  rights: ['rbac.*.read_role'],
  request: strict({ roleId: Id }),
  response: RoleObject,
  example: {
    request: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux' },
    response: { id: 'role_1Jm8Zta6oTt8JmM2wVz5Ux', name: 'editor', description: 'May read and write documents' },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { roleId }) {
    return toRoleObject(await engine.permissions.getRole(actor, roleId));
  },
});
