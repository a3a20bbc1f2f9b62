import { defineRoute } from './route.ts';
import { RoleId } from '../shapes/schema/commonFields.ts';
import { ROLE_PLAIN, type RolePlain } from '../../model/access.ts';
import { part } from '../../model/plainFields.ts';
import { RoleName, toPlain } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const createRole = defineRoute({
  path: '/v1/permissions.createRole',
  method: 'POST',
  summary: 'Create a role: a group of permissions that keys get and lose together.',
  description: 'A new role has no permissions.',
  rights: ['rbac.*.create_role'],
  command: { name: 'role create' },
  request: strict({ name: RoleName, ...part(ROLE_PLAIN, 'created') }),
  response: strict({ roleId: RoleId }),
  example: {
    request: { name: 'editor', description: 'May read and write documents' },
    response: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux' },
  },
  errors: ['CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { name, ...plain }) {
    return { roleId: await engine.permissions.createRole(actor, { name, ...toPlain<RolePlain>(ROLE_PLAIN, plain) }) };
  },
});
