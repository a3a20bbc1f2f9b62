import { IDENTITY_PLAIN } from '../../model/identities.ts';
import { part } from '../../model/plainFields.ts';
import { AlertsInput, ChangedMetered, Refill } from '../shapes/counters/creditFields.ts';
import { defineRoute } from './route.ts';
import { former, optional } from '../../model/schema/described.ts';
import {
  FullIdentityObject,
  IDENTITY_REFERENCE,
  toFullIdentity,
  toIdentityPatch,
  toIdentityReference,
} from '../shapes/holders/identityObject.ts';
import { SharedRatelimits } from '../shapes/counters/keyLimitFields.ts';
import { Count, EnvironmentOrNone, orNull, strict } from '../../model/schema/schemas.ts';

export const updateIdentity = defineRoute({
  path: '/v1/identities.updateIdentity',
  method: 'POST',
  summary: 'Change a customer.',
  description:
    'null clears a field; a field that is left out stays as it is. `ratelimits` replaces all limits; a limit with the same name, duration and mode keeps its count.',
  rights: ['identity.<identityId>.update_identity'],
  request: strict({
    ...IDENTITY_REFERENCE,
    environment: former(EnvironmentOrNone, 'Accepted for older programs. It has no effect.', 'production'),
    ...part(IDENTITY_PLAIN, 'changed'),
    maxKeys: optional(
      orNull(Count),
      'How many keys the customer may have. Existing keys stay. null: any number. It stays when absent.',
      5,
    ),
    alerts: optional(
      orNull(AlertsInput),
      'When an event warns that the credits of the customer run low, or that one of its keys is about to expire. null removes this; what its plan says then applies. It stays when absent.',
      { expiresWithinMs: 604800000 },
    ),
    ratelimits: optional(
      orNull(SharedRatelimits),
      'The new rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent.',
      [{ name: 'requests', limit: 200, duration: 60000 }],
    ),
    metered: ChangedMetered,
    remaining: optional(
      orNull(Count),
      'The new number of credits. null: credits are no longer counted, and the refill is removed. They stay as they are when absent.',
      500,
    ),
    refill: optional(
      orNull(Refill),
      'The new refill. It first happens at its next scheduled time. null removes it. It stays when absent.',
      { interval: 'monthly', amount: 500 },
    ),
  }),
  response: FullIdentityObject,
  example: {
    request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', meta: { plan: 'free' }, remaining: 500 },
    response: {
      id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
      externalId: 'user_1234',
      meta: { plan: 'free' },
      enabled: true,
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
