import { defineRoute } from './route.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const deleteApi = defineRoute({
  path: '/v1/apis.deleteApi',
  method: 'POST',
  summary: 'Delete an api with all its keys.',
  description: 'From then on, verifying one of them answers NOT_FOUND.',
  rights: ['api.<apiId>.delete_api'],
  command: { asksFirst: 'always' },
  request: strict({ apiId: ApiId }),
  response: Empty,
  example: { request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' }, response: {} },
  errors: ['NOT_FOUND', 'DELETE_PROTECTED'],
  async handle(engine, actor, { apiId }) {
    await engine.apis.delete(actor, apiId);
    return {};
  },
});
