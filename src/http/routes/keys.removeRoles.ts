import { toReferences } from '../shapes/permissionObject.ts';
import { defineRoute } from './route.ts';
import { Id, RoleReferencesToRemove, strict } from '../shapes/schemas.ts';

export const removeRoles = defineRoute({
  path: '/v1/keys.removeRoles',
  method: 'POST',
  summary:
    'Remove roles from a key. A role that the key does not have is ignored; one that does not exist answers 404.',
  rights: ['api.<apiId>.update_key', 'rbac.*.remove_role_from_key'],
  request: strict({ keyId: Id, roles: RoleReferencesToRemove }),
  response: strict({}),
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
