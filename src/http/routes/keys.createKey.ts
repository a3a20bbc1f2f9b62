import { defineRoute } from './route.ts';
import { ApiId, NEW_KEY_RIGHTS } from '../shapes/schema/commonFields.ts';
import { FORMER_KEY_FLAGS, KEY_FLAGS, NEW_KEY_FIELDS, toNewKey } from '../shapes/keys/keyFields.ts';
import { strict } from '../../model/schema/schemas.ts';
import { NewSecret } from '../shapes/keys/secretFields.ts';

export const createKey = defineRoute({
  path: '/v1/keys.createKey',
  method: 'POST',
  summary: 'Create a key.',
  description:
    'Its secret is shown only in this answer. Roles and permissions that do not exist are created if the root key has `rbac.*.create_role` and `rbac.*.create_permission`.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  command: {
    flags: KEY_FLAGS,
    formerFlags: { ...FORMER_KEY_FLAGS, disabled: 'Write --disable.' },
    shownOnce: 'key',
  },
  request: strict({ apiId: ApiId, ...NEW_KEY_FIELDS }),
  response: NewSecret,
  example: {
    request: {
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      prefix: 'demo',
      externalId: 'user_1234',
      meta: { plan: 'free' },
      remaining: 100,
      refill: { interval: 'daily', amount: 100 },
      ratelimit: { async: true, limit: 10, duration: 1000 },
    },
    response: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, body) {
    const { keyId, secret } = await engine.keys.create(actor, toNewKey(body, engine.storage.ledger.nowMs()));
    return { keyId, key: secret };
  },
});
