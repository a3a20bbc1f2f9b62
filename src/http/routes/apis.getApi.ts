import { defineRoute } from './route.ts';
import { ApiObject, toApiObject } from '../shapes/apiObject.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getApi = defineRoute({
  path: '/v1/apis.getApi',
  method: 'GET',
  summary: 'Read one api, with the defaults for its new keys.',
  rights: ['api.<apiId>.read_api'],
  request: strict({ apiId: ApiId }),
  response: ApiObject,
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' },
    response: {
      id: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
      name: 'payments',
      defaultPrefix: 'pay',
      deleteProtection: false,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { apiId }) {
    return toApiObject(await engine.apis.get(actor, apiId), engine.storage.workspaceId);
  },
});
