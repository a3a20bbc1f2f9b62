import { Type } from 'typebox';

import { MAX_PAGE_SIZE, MAX_SEARCH_LENGTH } from '../../core/bounds.ts';
import { KeyObject, toKeyObject } from '../shapes/keyObject.ts';
import { defineRoute } from './route.ts';
import { cursorAt, ExternalId, Id, PageLimit, strict, words } from '../shapes/schemas.ts';
import { refuseDecrypt } from './keys.getKey.ts';

export const listKeys = defineRoute({
  path: '/v1/apis.listKeys',
  method: 'GET',
  summary:
    'List the keys of an api, oldest first. `search` finds keys whose `start` begins with the text, or whose name or metadata contains words that begin with it.',
  rights: ['api.<apiId>.read_key', 'api.<apiId>.read_api'],
  request: strict({
    apiId: Id,
    limit: Type.Optional(PageLimit),
    cursor: Type.Optional(cursorAt('key')),
    externalId: Type.Optional(ExternalId),
    ownerId: Type.Optional(ExternalId),
    search: Type.Optional(words(1, MAX_SEARCH_LENGTH)),
    decrypt: Type.Optional(Type.Boolean()),
    revalidateKeysCache: Type.Optional(Type.Boolean()),
  }),
  response: strict({ keys: Type.Array(KeyObject), total: Type.Integer(), cursor: Type.Optional(Type.String()) }),
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', limit: 1 },
    response: {
      keys: [
        {
          id: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
          start: 'demo_7Kq2',
          apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
          workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
          meta: {},
          createdAt: 1783036800000,
          remaining: 3,
          roles: [],
          permissions: [],
          enabled: true,
        },
      ],
      total: 2,
      cursor: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
    },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, body) {
    const { apiId, limit = MAX_PAGE_SIZE, cursor = null, externalId, ownerId, search = null, decrypt } = body;
    refuseDecrypt(decrypt);
    const query = { apiId, limit, after: cursor, externalId: externalId ?? ownerId ?? null, search };
    const page = await engine.keys.list(actor, query);
    const keys = page.keys.map((view) => toKeyObject(view, engine.storage.workspaceId));
    return { keys, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
