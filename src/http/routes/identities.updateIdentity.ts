import { Type } from 'typebox';

import { FullIdentityObject, toFullIdentity, toIdentityPatch, toIdentityReference } from '../shapes/identityObject.ts';
import { defineRoute } from './route.ts';
import {
  Count,
  EnvironmentOrNone,
  ExternalId,
  Id,
  Meta,
  NamedRatelimits,
  orNull,
  Refill,
  strict,
} from '../shapes/schemas.ts';

export const updateIdentity = defineRoute({
  path: '/v1/identities.updateIdentity',
  method: 'POST',
  summary:
    'Change an identity. null clears a field; a field that is left out stays as it is. `ratelimits` replaces all limits; a limit with the same name, duration and mode keeps its count.',
  rights: ['identity.<identityId>.update_identity'],
  request: strict({
    identityId: Type.Optional(Id),
    externalId: Type.Optional(ExternalId),
    environment: Type.Optional(EnvironmentOrNone),
    meta: Type.Optional(orNull(Meta)),
    ratelimits: Type.Optional(orNull(NamedRatelimits)),
    remaining: Type.Optional(orNull(Count)),
    refill: Type.Optional(orNull(Refill)),
  }),
  response: FullIdentityObject,
  example: {
    request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', meta: { plan: 'free' }, remaining: 500 },
    response: {
      id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
      externalId: 'user_1234',
      meta: { plan: 'free' },
      ratelimits: [],
      remaining: 500,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { identityId, externalId, environment: _environment, ...fields }) {
    const reference = toIdentityReference({
      ...(identityId === undefined ? {} : { identityId }),
      ...(externalId === undefined ? {} : { externalId }),
    });
    return toFullIdentity(await engine.identities.update(actor, reference, toIdentityPatch(fields)));
  },
});
