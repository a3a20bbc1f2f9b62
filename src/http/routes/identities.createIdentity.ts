import { IDENTITY_PLAIN } from '../../model/identities.ts';
import { part } from '../../model/plainFields.ts';
import type { Issue } from '../../core/errors.ts';
import { defineRoute } from './route.ts';
import { AlertsInput, NewMetered, Refill } from '../shapes/counters/creditFields.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { IdentityId } from '../shapes/schema/commonFields.ts';
import { toIdentityPatch } from '../shapes/holders/identityObject.ts';
import { SharedRatelimits } from '../shapes/counters/keyLimitFields.ts';
import { Count, ExternalId, strict } from '../../model/schema/schemas.ts';

export const createIdentity = defineRoute({
  path: '/v1/identities.createIdentity',
  method: 'POST',
  summary: 'Create a customer: one of your users or organisations, with limits and credits that all its keys share.',
  description:
    'A limit of the customer applies to every verification of its keys, in addition to their own limits. With `autoApply: false`, it applies only when a verification names it.',
  rights: ['identity.*.create_identity'],
  request: strict({
    externalId: field(
      ExternalId,
      'Your own id of the customer, 1 to 256 characters. It must be unique: an id that is taken answers 409.',
      EXAMPLE.externalId,
    ),
    ...part(IDENTITY_PLAIN, 'created'),
    maxKeys: optional(Count, 'How many keys the customer may have. Any number when absent.', 5),
    alerts: optional(
      AlertsInput,
      'When an event warns that the credits of the customer run low, or that one of its keys is about to expire. What a key sets itself takes precedence.',
    ),
    ratelimits: optional(SharedRatelimits, 'The rate limits that all keys of the customer share, at most 50.', [
      { name: 'requests', limit: 100, duration: 60000 },
    ]),
    metered: NewMetered,
    remaining: optional(
      Count,
      'The credits that all keys of the customer share. If the key has credits too, a verification takes its cost from both. Credits are not counted when absent.',
      1000,
    ),
    refill: optional(Refill),
  }),
  response: strict({ identityId: IdentityId }),
  example: {
    request: {
      externalId: 'user_1234',
      name: 'Acme Inc.',
      meta: { plan: 'pro' },
      ratelimits: [{ name: 'requests', limit: 100, duration: 60000 }],
      remaining: 1000,
      refill: { interval: 'monthly', amount: 1000 },
    },
    response: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W' },
  },
  errors: ['CONFLICT'],
  async handle(engine, actor, { externalId, ...fields }) {
    const issues: Issue[] = [];
    if (fields.refill !== undefined && fields.remaining === undefined) {
      issues.push({ path: 'refill', message: 'a refill needs credits: send remaining too' });
    }
    return { identityId: await engine.identities.create(actor, externalId, toIdentityPatch(fields, issues)) };
  },
});
