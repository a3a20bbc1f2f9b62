import { defineRoute } from './route.ts';
import { RoleId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const deleteRole = defineRoute({
  path: '/v1/permissions.deleteRole',
  method: 'POST',
  summary: 'Delete a role.',
  description: 'Every key loses the role and its permissions at once. The permissions themselves stay.',
  rights: ['rbac.*.delete_role'],
  command: { name: 'role delete', asksFirst: 'always' },
  request: strict({ roleId: RoleId }),
  response: Empty,
  example: { request: { roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { roleId }) {
    await engine.permissions.deleteRole(actor, roleId);
    return {};
  },
});
