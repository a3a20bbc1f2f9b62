import { defineRoute } from './route.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const restoreKey = defineRoute({
  path: '/v1/keys.restoreKey',
  method: 'POST',
  summary: 'Restore a key that was deleted without `permanent`.',
  description: 'Refills that were due in the meantime are applied.',
  rights: ['api.<apiId>.update_key'],
  request: strict({ keyId: KeyId }),
  response: Empty,
  example: { request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' }, response: {} },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId }) {
    await engine.deleteKey.restore(actor, keyId);
    return {};
  },
});
