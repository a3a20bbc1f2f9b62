import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { HeldPermissions, PermissionReferences, toReferences } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const addPermissions = defineRoute({
  path: '/v1/keys.addPermissions',
  method: 'POST',
  summary: 'Add permissions to a key, and return all that it has directly.',
  description: 'With `create`, a permission that does not exist is made; that needs `rbac.*.create_permission`.',
  rights: ['api.<apiId>.update_key', 'rbac.*.add_permission_to_key'],
  request: strict({
    keyId: KeyId,
    permissions: field(PermissionReferences, 'The permissions to add, at most 1000.'),
  }),
  response: HeldPermissions,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', permissions: [{ name: 'documents.read' }] },
    response: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T', name: 'Read documents' }],
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, permissions }) {
    const references = toReferences(permissions, 'permissions');
    return engine.keyGrants.add(actor, { kind: 'permissions', keyId, references });
  },
});
