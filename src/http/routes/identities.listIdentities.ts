import { Type } from 'typebox';

import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { FullIdentityObject, toFullIdentity } from '../shapes/identityObject.ts';
import { defineRoute } from './route.ts';
import { cursorAt, Environment, PageLimit, strict } from '../shapes/schemas.ts';

export const listIdentities = defineRoute({
  path: '/v1/identities.listIdentities',
  method: 'GET',
  summary: 'List all identities, oldest first. `environment` is accepted and has no effect.',
  rights: ['identity.*.read_identity'],
  request: strict({
    limit: Type.Optional(PageLimit),
    cursor: Type.Optional(cursorAt('id')),
    environment: Type.Optional(Environment),
  }),
  response: strict({
    identities: Type.Array(FullIdentityObject),
    total: Type.Integer(),
    cursor: Type.Optional(Type.String()),
  }),
  example: {
    request: { limit: 10 },
    response: {
      identities: [{ id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', externalId: 'user_1234', meta: {}, ratelimits: [] }],
      total: 1,
    },
  },
  errors: [],
  async handle(engine, actor, { limit = MAX_PAGE_SIZE, cursor = null }) {
    const page = await engine.identities.list(actor, limit, cursor);
    const identities = page.identities.map(toFullIdentity);
    return { identities, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
