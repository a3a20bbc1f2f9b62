import { Type } from 'typebox';

import { MAX_OVERLAP_MS } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const rotateKey = defineRoute({
  path: '/v1/keys.rotateKey',
  method: 'POST',
  summary:
    'Give a key a new secret. Its id, counters and history stay. The old secret stays valid for `overlapMs`, then it is rejected.',
  rights: ['api.<apiId>.create_key', 'api.<apiId>.update_key'],
  request: strict({ keyId: Id, overlapMs: Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_MS }) }),
  response: strict({ keyId: Type.String(), key: Type.String() }),
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', overlapMs: 86400000 },
    response: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', key: 'demo_9Wd4XbZe2RpVcT7uNqKs5F6hJg3M' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, overlapMs }) {
    return { keyId, key: await engine.rotateKey.rotate(actor, keyId, overlapMs) };
  },
});
