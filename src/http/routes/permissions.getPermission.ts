import { defineRoute } from './route.ts';
import { PermissionId } from '../shapes/schema/commonFields.ts';
import { PermissionObject, toPermissionObject } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getPermission = defineRoute({
  path: '/v1/permissions.getPermission',
  method: 'GET',
  summary: 'Read one permission.',
  rights: ['rbac.*.read_permission'],
  request: strict({ permissionId: PermissionId }),
  response: PermissionObject,
  example: {
    request: { permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T' },
    response: {
      id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T',
      name: 'Read documents',
      slug: 'documents.read',
      description: 'Every document of the account',
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { permissionId }) {
    return toPermissionObject(await engine.permissions.getPermission(actor, permissionId));
  },
});
