import { Type } from 'typebox';

import { Description, toDescription } from '../shapes/permissionObject.ts';
import { defineRoute } from './route.ts';
import { PermissionName, strict } from '../shapes/schemas.ts';

export const createPermission = defineRoute({
  path: '/v1/permissions.createPermission',
  method: 'POST',
  summary:
    'Create a permission. Verifications ask for its `slug`, which is its `name` if none is given. A name or slug that another permission uses as its name or slug is a conflict.',
  rights: ['rbac.*.create_permission'],
  request: strict({
    name: PermissionName,
    slug: Type.Optional(PermissionName),
    description: Type.Optional(Description),
  }),
  response: strict({ permissionId: Type.String() }),
  example: {
    request: { name: 'Read documents', slug: 'documents.read', description: 'Every document of the account' },
    response: { permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T' },
  },
  errors: ['CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { name, slug = name, description }) {
    const fields = { name, slug, description: toDescription(description) };
    return { permissionId: await engine.permissions.createPermission(actor, fields) };
  },
});
