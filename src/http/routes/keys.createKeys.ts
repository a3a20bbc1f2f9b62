import { MAX_KEYS_BODY_BYTES, MAX_KEYS_PER_CALL } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { component, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId, NEW_KEY_RIGHTS } from '../shapes/schema/commonFields.ts';
import { NEW_KEY_FIELDS, toNewKeys } from '../shapes/keys/keyFields.ts';
import { strict } from '../../model/schema/schemas.ts';
import { NewSecret } from '../shapes/keys/secretFields.ts';

const KEY_EXAMPLE = { prefix: 'demo', ownerId: EXAMPLE.externalId, remaining: 100 };

const KeyToCreate = component(
  'KeyToCreate',
  strict({ apiId: optional(ApiId, 'The api of this key. The `apiId` of the call when absent.'), ...NEW_KEY_FIELDS }),
  'A key to create, with the fields of `keys.createKey`.',
  KEY_EXAMPLE,
);

export const createKeys = defineRoute({
  path: '/v1/keys.createKeys',
  method: 'POST',
  summary: 'Create up to 1000 keys: all of them, or none.',
  description:
    'If one key is invalid, none is created, and the error names its place in the list, such as `keys[17]`. The secrets are shown only in this answer. Roles, permissions, rate limits and addresses of all keys together have at most 10000 entries.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  command: { name: 'key create-many', shownOnce: 'key' },
  request: strict({
    apiId: optional(ApiId, 'The api of every key that names none.'),
    keys: listOf(KeyToCreate, 'The keys to create, 1 to 1000.', { minItems: 1, maxItems: MAX_KEYS_PER_CALL }),
  }),
  response: strict({ keys: listOf(NewSecret, 'The new keys with their secrets, in the order of the request.') }),
  example: {
    request: { apiId: EXAMPLE.apiId, keys: [KEY_EXAMPLE, { prefix: 'demo', ownerId: 'user_5678' }] },
    response: {
      keys: [
        { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
        { keyId: 'key_1Jm8ZtYh5nSs7HkL9vUy4T', key: 'demo_9Mr4AxYd2ZpVcS6tNnBq8F5hJk1L' },
      ],
    },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  maxBodyBytes: MAX_KEYS_BODY_BYTES,
  async handle(engine, actor, body) {
    const created = await engine.keys.createMany(actor, await toNewKeys(engine, actor, body));
    return { keys: created.map(({ keyId, secret }) => ({ keyId, key: secret })) };
  },
});
