import { defineRoute } from './route.ts';
import {
  IDENTITY_REFERENCE,
  IdentityDetailsObject,
  toIdentityDetails,
  toIdentityReference,
} from '../shapes/holders/identityObject.ts';
import { USED_EXAMPLE } from '../shapes/counters/keyLimitFields.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getIdentity = defineRoute({
  path: '/v1/identities.getIdentity',
  method: 'GET',
  summary: 'Read one customer: its credits, what was used of its limits, and how many keys it has.',
  rights: ['identity.<identityId>.read_identity'],
  request: strict(IDENTITY_REFERENCE),
  response: IdentityDetailsObject,
  example: {
    request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W' },
    response: {
      id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
      externalId: 'user_1234',
      name: 'Acme Inc.',
      meta: { plan: 'pro' },
      enabled: true,
      keys: 2,
      ratelimits: [USED_EXAMPLE],
      remaining: 1000,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    return toIdentityDetails(await engine.identities.get(actor, toIdentityReference(body)));
  },
});
