import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { PermissionObject, toPermissionObject } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const listPermissions = defineRoute({
  path: '/v1/permissions.listPermissions',
  method: 'GET',
  summary: 'List all permissions, sorted by name.',
  rights: ['rbac.*.read_permission'],
  request: strict({}),
  response: listOf(PermissionObject, 'All permissions, sorted by name.'),
  example: {
    request: {},
    response: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T', name: 'Read documents', slug: 'documents.read' }],
  },
  errors: [],
  async handle(engine, actor) {
    return (await engine.permissions.listPermissions(actor)).map(toPermissionObject);
  },
});
