import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { PermissionId } from '../shapes/schema/commonFields.ts';
import { PERMISSION_PLAIN, type PermissionPlain } from '../../model/access.ts';
import { part } from '../../model/plainFields.ts';
import { toPlain } from '../shapes/keys/permissionObject.ts';
import { PermissionName, strict } from '../../model/schema/schemas.ts';

export const createPermission = defineRoute({
  path: '/v1/permissions.createPermission',
  method: 'POST',
  summary: 'Create a permission.',
  description:
    'Verifications ask for its `slug`, which is its `name` if you send none. A name or slug that another permission has as its name or slug answers 409.',
  rights: ['rbac.*.create_permission'],
  request: strict({
    name: field(PermissionName, 'The name of the permission, for people: 1 to 512 characters.', 'Read documents'),
    slug: optional(
      PermissionName,
      'What verifications ask for, 1 to 512 characters. In it, `*` as a whole word between dots is a wildcard. The `name` when absent.',
      'documents.read',
    ),
    ...part(PERMISSION_PLAIN, 'created'),
  }),
  response: strict({ permissionId: PermissionId }),
  example: {
    request: { name: 'Read documents', slug: 'documents.read', description: 'Every document of the account' },
    response: { permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T' },
  },
  errors: ['CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { name, slug = name, ...plain }) {
    const fields = { name, slug, ...toPlain<PermissionPlain>(PERMISSION_PLAIN, plain) };
    return { permissionId: await engine.permissions.createPermission(actor, fields) };
  },
});
