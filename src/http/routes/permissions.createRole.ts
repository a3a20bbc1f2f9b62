import { Type } from 'typebox';

import { Description, toDescription } from '../shapes/permissionObject.ts';
import { defineRoute } from './route.ts';
import { PermissionName, strict } from '../shapes/schemas.ts';

export const createRole = defineRoute({
  path: '/v1/permissions.createRole',
  method: 'POST',
  summary: 'Create a role: a group of permissions that keys get and lose together. A new role has no permissions.',
  rights: ['rbac.*.create_role'],
  request: strict({ name: PermissionName, description: Type.Optional(Description) }),
  response: strict({ roleId: Type.String() }),
  example: {
    request: { name: 'editor', description: 'May read and write documents' },
    response: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux' },
  },
  errors: ['CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { name, description }) {
    return { roleId: await engine.permissions.createRole(actor, { name, description: toDescription(description) }) };
  },
});
