import { defineRoute } from './route.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { RoleReferencesToRemove, toReferences } from '../shapes/keys/permissionObject.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const removeRoles = defineRoute({
  path: '/v1/keys.removeRoles',
  method: 'POST',
  summary: 'Remove roles from a key.',
  description: 'A role that the key does not have is ignored; one that does not exist answers 404.',
  rights: ['api.<apiId>.update_key', 'rbac.*.remove_role_from_key'],
  request: strict({ keyId: KeyId, roles: RoleReferencesToRemove }),
  response: Empty,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', roles: [{ name: 'editor' }] },
    response: {},
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, roles }) {
    const references = toReferences(roles, 'roles');
    await engine.keyGrants.remove(actor, { kind: 'roles', keyId, references });
    return {};
  },
});
