import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { former, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { FullIdentityObject, toFullIdentity } from '../shapes/holders/identityObject.ts';
import { nextCursor, pageCursor, PageLimit, Total } from '../shapes/schema/commonFields.ts';
import { cursorAt, Environment, Name, strict } from '../../model/schema/schemas.ts';

export const listIdentities = defineRoute({
  path: '/v1/identities.listIdentities',
  method: 'GET',
  summary: 'List or search customers, oldest first.',
  description:
    '`search` finds customers whose `externalId` begins with the text, or whose `externalId`, name or metadata has words that begin with each of its words.',
  rights: ['identity.*.read_identity'],
  request: strict({
    limit: PageLimit,
    cursor: pageCursor(cursorAt('id'), EXAMPLE.identityId),
    search: optional(Name, 'Finds customers by `externalId`, name and metadata. 1 to 256 characters.', 'acme'),
    environment: former(Environment, 'Accepted for older programs. It has no effect.', 'production'),
  }),
  response: strict({
    identities: listOf(FullIdentityObject, 'The customers of this page.'),
    total: Total,
    cursor: nextCursor(EXAMPLE.identityId),
  }),
  example: {
    request: { limit: 10 },
    response: {
      identities: [
        { id: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', externalId: 'user_1234', meta: {}, enabled: true, ratelimits: [] },
      ],
      total: 1,
    },
  },
  errors: [],
  async handle(engine, actor, { limit = MAX_PAGE_SIZE, cursor = null, search = null }) {
    const page = await engine.identities.list(actor, { limit, after: cursor, search });
    const identities = page.identities.map(toFullIdentity);
    return { identities, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
