import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const deleteKey = defineRoute({
  path: '/v1/keys.deleteKey',
  method: 'POST',
  summary:
    'Delete a key. From then on, verifying it answers NOT_FOUND. `permanent` also removes its record; otherwise the key can be restored.',
  rights: ['api.<apiId>.delete_key'],
  request: strict({ keyId: Id, permanent: Type.Optional(Type.Boolean()) }),
  response: strict({}),
  example: { request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, permanent = false }) {
    await engine.deleteKey.delete(actor, keyId, permanent);
    return {};
  },
});
