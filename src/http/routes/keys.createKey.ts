import type { Issue } from '../../core/errors.ts';
import { defineRoute } from './route.ts';
import { CREATION_FIELDS, KeyPrefix, Recoverable } from '../shapes/creationFields.ts';
import { optional } from '../shapes/described.ts';
import { NEW_KEY_RIGHTS } from '../shapes/fieldRights.ts';
import { ApiId } from '../shapes/idFields.ts';
import { refuseRecoverable, toKeyPatch, withoutEmpty } from '../shapes/keyFields.ts';
import { ByteLength, strict } from '../shapes/schemas.ts';
import { NewSecret } from '../shapes/secretFields.ts';

export const createKey = defineRoute({
  path: '/v1/keys.createKey',
  method: 'POST',
  summary: 'Create a key.',
  description:
    'Its secret is shown only in this answer. Roles and permissions that do not exist are created if the root key has `rbac.*.create_role` and `rbac.*.create_permission`.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  request: strict({
    apiId: ApiId,
    prefix: KeyPrefix,
    byteLength: optional(
      ByteLength,
      'The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16.',
      16,
    ),
    ...CREATION_FIELDS,
    recoverable: Recoverable,
  }),
  response: NewSecret,
  example: {
    request: {
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      prefix: 'demo',
      ownerId: 'user_1234',
      meta: { plan: 'free' },
      remaining: 100,
      refill: { interval: 'daily', amount: 100 },
      ratelimit: { async: true, limit: 10, duration: 1000 },
    },
    response: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, body) {
    const { apiId, prefix = null, byteLength = null, recoverable, roles, permissions, ...fields } = body;
    refuseRecoverable(recoverable);
    const issues: Issue[] = [];
    if (fields.expires !== undefined && fields.expires <= engine.storage.ledger.nowMs()) {
      issues.push({ path: 'expires', message: 'expires is in the past; it must be a unix time in milliseconds' });
    }
    if (fields.refill !== undefined && fields.remaining === undefined) {
      issues.push({ path: 'refill', message: 'a refill needs a counter: give remaining with it' });
    }
    const named = {
      ...withoutEmpty(fields),
      ...(roles === undefined ? {} : { roles: roles.map(byName) }),
      ...(permissions === undefined ? {} : { permissions: permissions.map(byName) }),
    };
    const patch = toKeyPatch(named, issues);
    const { keyId, secret } = await engine.keys.create(actor, { ...patch, apiId, prefix, byteLength });
    return { keyId, key: secret };
  },
});

/** Roles and permissions that do not exist are created, if the root key may do that. */
function byName(name: string): { name: string; create: true } {
  return { name, create: true };
}
