import { Type } from 'typebox';

import { defineRoute } from '../route.ts';
import { Id, strict } from '../schemas.ts';

export const ApiObject = strict({ id: Type.String(), workspaceId: Type.String(), name: Type.String() });

export const getApi = defineRoute({
  path: '/v1/apis.getApi',
  method: 'GET',
  summary: 'Read one api.',
  rights: ['api.<apiId>.read_api'],
  request: strict({ apiId: Id }),
  response: ApiObject,
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' },
    response: { id: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P', name: 'payments' },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { apiId }) {
    const api = await engine.apis.get(actor, apiId);
    return { id: api.id, workspaceId: engine.storage.workspaceId, name: api.name };
  },
});
