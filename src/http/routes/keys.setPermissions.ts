import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { HeldPermissions, PermissionReferences, toReferences } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const setPermissions = defineRoute({
  path: '/v1/keys.setPermissions',
  method: 'POST',
  summary: 'Replace the permissions that a key has directly, and return them.',
  description: 'With `create`, a permission that does not exist is made; that needs `rbac.*.create_permission`.',
  rights: ['api.<apiId>.update_key', 'rbac.*.add_permission_to_key', 'rbac.*.remove_permission_from_key'],
  request: strict({
    keyId: KeyId,
    permissions: field(
      PermissionReferences,
      'The permissions that the key has from now on, at most 1000. `[]` removes all.',
    ),
  }),
  response: HeldPermissions,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', permissions: [{ name: 'documents.read' }] },
    response: [{ id: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T', name: 'Read documents' }],
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, permissions }) {
    const references = toReferences(permissions, 'permissions');
    return engine.keyGrants.set(actor, { kind: 'permissions', keyId, references });
  },
});
