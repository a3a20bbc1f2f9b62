import { defineRoute } from './route.ts';
import { optional } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { Empty, Flag, strict } from '../../model/schema/schemas.ts';

export const deleteKey = defineRoute({
  path: '/v1/keys.deleteKey',
  method: 'POST',
  summary: 'Delete a key.',
  description:
    'From then on, verifying it answers NOT_FOUND. `permanent` also removes its record; otherwise the key can be restored.',
  rights: ['api.<apiId>.delete_key'],
  command: { asksFirst: 'always' },
  request: strict({
    keyId: KeyId,
    permanent: optional(
      Flag,
      'true: the record of the key is removed too, and the key cannot be restored. false when absent.',
      false,
    ),
  }),
  response: Empty,
  example: { request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, permanent = false }) {
    await engine.deleteKey.delete(actor, keyId, permanent);
    return {};
  },
});
