import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { HeldRoles, RoleReferences, toReferences } from '../shapes/keys/permissionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const setRoles = defineRoute({
  path: '/v1/keys.setRoles',
  method: 'POST',
  summary: 'Replace the roles of a key, and return them.',
  description: '`create` creates a role that does not exist, and then needs `rbac.*.create_role`.',
  rights: ['api.<apiId>.update_key', 'rbac.*.add_role_to_key', 'rbac.*.remove_role_from_key'],
  request: strict({
    keyId: KeyId,
    roles: field(RoleReferences, 'The roles that the key has from now on, at most 100. `[]` removes all.'),
  }),
  response: HeldRoles,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', roles: [{ name: 'editor' }] },
    response: [{ id: 'role_1Jm8Zta6oTt8JmM2wVz5Ux', name: 'editor' }],
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, roles }) {
    const references = toReferences(roles, 'roles');
    return engine.keyGrants.set(actor, { kind: 'roles', keyId, references });
  },
});
