import { Type } from 'typebox';

import { MAX_EXTERNAL_ID_LENGTH, MIN_EXTERNAL_ID_LENGTH } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import { toIdentityPatch } from '../shapes/identityObject.ts';
import { defineRoute } from './route.ts';
import { Count, Meta, NamedRatelimits, Refill, strict, words } from '../shapes/schemas.ts';

export const createIdentity = defineRoute({
  path: '/v1/identities.createIdentity',
  method: 'POST',
  summary:
    'Create an identity: one of your users or organisations, with limits and credits that all its keys share. A limit of the identity applies when a verification names it.',
  rights: ['identity.*.create_identity'],
  request: strict({
    externalId: words(MIN_EXTERNAL_ID_LENGTH, MAX_EXTERNAL_ID_LENGTH),
    meta: Type.Optional(Meta),
    ratelimits: Type.Optional(NamedRatelimits),
    remaining: Type.Optional(Count),
    refill: Type.Optional(Refill),
  }),
  response: strict({ identityId: Type.String() }),
  example: {
    request: {
      externalId: 'user_1234',
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
      issues.push({ path: 'refill', message: 'a refill needs a counter: give remaining with it' });
    }
    return { identityId: await engine.identities.create(actor, externalId, toIdentityPatch(fields, issues)) };
  },
});
