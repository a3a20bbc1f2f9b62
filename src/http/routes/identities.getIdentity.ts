import { defineRoute } from './route.ts';
import {
  FullIdentityObject,
  IDENTITY_REFERENCE,
  toFullIdentity,
  toIdentityReference,
} from '../shapes/identityObject.ts';
import { strict } from '../shapes/schemas.ts';

export const getIdentity = defineRoute({
  path: '/v1/identities.getIdentity',
  method: 'GET',
  summary: 'Read one identity, by `identityId` or by your own `externalId`.',
  rights: ['identity.<identityId>.read_identity'],
  request: strict(IDENTITY_REFERENCE),
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
