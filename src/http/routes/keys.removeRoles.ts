import { toReferences } from '../shapes/permissionObject.ts';
import { defineRoute } from './route.ts';
import { Id, RoleReferencesToRemove, strict } from '../shapes/schemas.ts';

export const removeRoles = defineRoute({
  path: '/v1/keys.removeRoles',
  method: 'POST',
  summary: 'Take roles from a key. What the key does not have is passed over; what does not exist is a 404.',
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
