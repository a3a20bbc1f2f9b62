import { defineRoute } from './route.ts';
import {
  CHANGED_FIELDS,
  FORMER_KEY_FLAGS,
  KEY_FLAGS,
  Recoverable,
  refuseRecoverable,
  toKeyPatch,
} from '../shapes/keys/keyFields.ts';
import { CHANGED_KEY_RIGHTS, KeyId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const updateKey = defineRoute({
  path: '/v1/keys.updateKey',
  method: 'POST',
  summary: 'Change a key.',
  description:
    'null clears a field; a field that is left out stays as it is. `roles` and `permissions` replace all that the key has; creating one with `create` needs `rbac.*.create_role` or `rbac.*.create_permission`.',
  rights: ['api.<apiId>.update_key'],
  fieldRights: CHANGED_KEY_RIGHTS,
  command: { flags: KEY_FLAGS, formerFlags: FORMER_KEY_FLAGS },
  request: strict({
    keyId: KeyId,
    ...CHANGED_FIELDS,
    recoverable: Recoverable,
  }),
  response: Empty,
  example: { request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', enabled: false, name: null }, response: {} },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, recoverable, ...fields }) {
    refuseRecoverable(recoverable);
    await engine.keys.update(actor, keyId, toKeyPatch(fields));
    return {};
  },
});
