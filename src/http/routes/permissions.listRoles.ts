import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { RoleObject, toRoleObject } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const listRoles = defineRoute({
  path: '/v1/permissions.listRoles',
  method: 'GET',
  summary: 'List all roles, sorted by name.',
  rights: ['rbac.*.read_role'],
  command: { name: 'role list' },
  request: strict({}),
  response: listOf(RoleObject, 'All roles, sorted by name.'),
  example: { request: {}, response: [{ id: 'role_1Jm8Zta6oTt8JmM2wVz5Ux', name: 'editor' }] },
  errors: [],
  async handle(engine, actor) {
    return (await engine.permissions.listRoles(actor)).map(toRoleObject);
  },
});
