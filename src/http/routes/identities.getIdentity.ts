import { Type } from 'typebox';

import { FullIdentityObject, toFullIdentity, toIdentityReference } from '../shapes/identityObject.ts';
import { defineRoute } from './route.ts';
import { ExternalId, Id, strict } from '../shapes/schemas.ts';

export const getIdentity = defineRoute({
  path: '/v1/identities.getIdentity',
  method: 'GET',
  summary: 'Read one identity, by `identityId` or by your own `externalId`.',
  rights: ['identity.<identityId>.read_identity'],
  request: strict({ identityId: Type.Optional(Id), externalId: Type.Optional(ExternalId) }),
  response: FullIdentityObject,
  example: {
    request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W' },
    response: {
      id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
      externalId: 'user_1234',
      meta: { plan: 'pro' },
      ratelimits: [{ name: 'requests', limit: 100, duration: 60000, async: true }],
      remaining: 1000,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    return toFullIdentity(await engine.identities.get(actor, toIdentityReference(body)));
  },
});
