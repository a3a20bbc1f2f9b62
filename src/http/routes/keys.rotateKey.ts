import { defineRoute } from './route.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { strict } from '../../model/schema/schemas.ts';
import { NewSecret, OverlapMs } from '../shapes/keys/secretFields.ts';

export const rotateKey = defineRoute({
  path: '/v1/keys.rotateKey',
  method: 'POST',
  summary: 'Give a key a new secret.',
  description:
    'Its id, credits, limits and history stay. The old secret stays valid for `overlapMs`, then it is rejected.',
  rights: ['api.<apiId>.create_key', 'api.<apiId>.update_key'],
  command: { asksFirst: 'withoutOverlap', shownOnce: 'key' },
  request: strict({ keyId: KeyId, overlapMs: OverlapMs }),
  response: NewSecret,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', overlapMs: 86400000 },
    response: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', key: 'demo_9Wd4XbZe2RpVcT7uNqKs5F6hJg3M' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, overlapMs }) {
    return { keyId, key: await engine.rotateKey.rotate(actor, keyId, overlapMs) };
  },
});
