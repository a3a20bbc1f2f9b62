import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { NamespaceId, nextCursor, pageCursor, PageLimit, Total } from '../shapes/schema/commonFields.ts';
import { NamespaceFields, OverrideObject, toNamespaceReference, toOverrideObject } from '../shapes/ratelimitFields.ts';
import { cursorAt, strict } from '../../model/schema/schemas.ts';

export const listOverrides = defineRoute({
  path: '/v1/ratelimits.listOverrides',
  method: 'GET',
  summary: 'List the overrides of a namespace, oldest first.',
  rights: ['ratelimit.<namespaceId>.read_override'],
  request: strict({
    ...NamespaceFields,
    limit: PageLimit,
    cursor: pageCursor(cursorAt('ovr'), EXAMPLE.overrideId),
  }),
  response: strict({
    namespaceId: NamespaceId,
    overrides: listOf(OverrideObject, 'The overrides of this page.'),
    total: Total,
    cursor: nextCursor(EXAMPLE.overrideId),
  }),
  example: {
    request: { namespaceName: 'email.outbound', limit: 10 },
    response: {
      namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R',
      overrides: [
        {
          id: 'ovr_1Jm8ZtYk7pTt8HmN5wVz4X',
          namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R',
          identifier: '*@example.com',
          limit: 100,
          duration: 60000,
          async: false,
        },
      ],
      total: 1,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { limit = MAX_PAGE_SIZE, cursor = null, ...body }) {
    const query = { limit, after: cursor };
    const page = await engine.ratelimits.overrides.list(actor, toNamespaceReference(body), query);
    const overrides = page.items.map(toOverrideObject);
    const { namespaceId, total } = page;
    return { namespaceId, overrides, total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
