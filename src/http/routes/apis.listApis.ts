import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { ApiObject, toApiObject } from '../shapes/apiObject.ts';
import { listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { nextCursor, pageCursor, PageLimit, Total } from '../shapes/schema/commonFields.ts';
import { cursorAt, strict } from '../../model/schema/schemas.ts';

export const listApis = defineRoute({
  path: '/v1/apis.listApis',
  method: 'GET',
  summary: 'List the apis that the root key may read, oldest first.',
  rights: ['api.<apiId>.read_api'],
  request: strict({ limit: PageLimit, cursor: pageCursor(cursorAt('api'), EXAMPLE.apiId) }),
  response: strict({
    apis: listOf(ApiObject, 'The apis of this page.'),
    total: Total,
    cursor: nextCursor(EXAMPLE.apiId),
  }),
  example: {
    request: { limit: 10 },
    response: {
      apis: [
        {
          id: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
          workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
          name: 'payments',
          deleteProtection: false,
        },
      ],
      total: 1,
    },
  },
  errors: [],
  async handle(engine, actor, { limit = MAX_PAGE_SIZE, cursor = null }) {
    const page = await engine.apis.list(actor, limit, cursor);
    const apis = page.items.map((api) => toApiObject(api, engine.storage.workspaceId));
    return { apis, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
