import { defineRoute } from './route.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { PermissionReferencesToRemove, toReferences } from '../shapes/keys/permissionObject.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const removePermissions = defineRoute({
  path: '/v1/keys.removePermissions',
  method: 'POST',
  summary: 'Remove permissions from a key.',
  description: 'A permission that the key does not have is ignored; one that does not exist answers 404.',
  rights: ['api.<apiId>.update_key', 'rbac.*.remove_permission_from_key'],
  request: strict({ keyId: KeyId, permissions: PermissionReferencesToRemove }),
  response: Empty,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', permissions: [{ name: 'documents.read' }] },
    response: {},
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, permissions }) {
    const references = toReferences(permissions, 'permissions');
    await engine.keyGrants.remove(actor, { kind: 'permissions', keyId, references });
    return {};
  },
});
