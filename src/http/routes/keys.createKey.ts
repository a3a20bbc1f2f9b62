import { Type } from 'typebox';

import { badFields, refuseRecoverable, toKeyPatch } from '../keyFields.ts';
import { defineRoute } from '../route.ts';
import {
  ByteLength,
  Count,
  Environment,
  ExternalId,
  Id,
  IpAllowlist,
  Meta,
  Name,
  NamedRatelimits,
  PermissionNames,
  Prefix,
  Ratelimit,
  Refill,
  RoleNames,
  strict,
  UnixMs,
} from '../schemas.ts';

export const createKey = defineRoute({
  path: '/v1/keys.createKey',
  method: 'POST',
  summary: 'Make a key. The answer is the only time its secret is shown.',
  rights: ['api.<apiId>.create_key'],
  request: strict({
    apiId: Id,
    prefix: Type.Optional(Prefix),
    name: Type.Optional(Name),
    byteLength: Type.Optional(ByteLength),
    externalId: Type.Optional(ExternalId),
    ownerId: Type.Optional(ExternalId),
    meta: Type.Optional(Meta),
    roles: Type.Optional(RoleNames),
    permissions: Type.Optional(PermissionNames),
    expires: Type.Optional(UnixMs),
    remaining: Type.Optional(Count),
    refill: Type.Optional(Refill),
    ratelimit: Type.Optional(Ratelimit),
    ratelimits: Type.Optional(NamedRatelimits),
    ipAllowlist: Type.Optional(IpAllowlist),
    enabled: Type.Optional(Type.Boolean()),
    recoverable: Type.Optional(Type.Boolean()),
    environment: Type.Optional(Environment),
  }),
  response: strict({ keyId: Type.String(), key: Type.String() }),
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
    if (fields.expires !== undefined && fields.expires <= engine.storage.ledger.nowMs()) {
      throw badFields([{ path: 'expires', message: 'expires lies in the past; it is a unix time in milliseconds' }]);
    }
    if (fields.refill !== undefined && fields.remaining === undefined) {
      throw badFields([{ path: 'refill', message: 'a refill needs a counter: give remaining with it' }]);
    }
    const patch = toKeyPatch({
      ...fields,
      ...(roles === undefined ? {} : { roles: roles.map(byName) }),
      ...(permissions === undefined ? {} : { permissions: permissions.map(byName) }),
    });
    const { keyId, secret } = await engine.keys.create(actor, { ...patch, apiId, prefix, byteLength });
    return { keyId, key: secret };
  },
});

/** What does not exist is made on the way, if the root key may. */
function byName(name: string): { name: string; create: true } {
  return { name, create: true };
}
