import { defineRoute } from './route.ts';
import { PermissionId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const deletePermission = defineRoute({
  path: '/v1/permissions.deletePermission',
  method: 'POST',
  summary: 'Delete a permission.',
  description: 'Every key and role loses it at once. A permission created later with the same name is a different one.',
  rights: ['rbac.*.delete_permission'],
  command: { asksFirst: 'always' },
  request: strict({ permissionId: PermissionId }),
  response: Empty,
  example: { request: { permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { permissionId }) {
    await engine.permissions.deletePermission(actor, permissionId);
    return {};
  },
});
