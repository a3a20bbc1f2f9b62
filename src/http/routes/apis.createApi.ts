import { defineRoute } from './route.ts';
import { ApiNameField } from '../shapes/apiObject.ts';
import { field } from '../../model/schema/described.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { strict, Text } from '../../model/schema/schemas.ts';

export const createApi = defineRoute({
  path: '/v1/apis.createApi',
  method: 'POST',
  summary: 'Create an api: a group of keys that belong to one of your services.',
  rights: ['api.*.create_api'],
  request: strict({ name: ApiNameField }),
  response: strict({ apiId: ApiId, name: field(Text, 'The name of the api, as it was sent.', 'payments') }),
  example: { request: { name: 'payments' }, response: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', name: 'payments' } },
  errors: ['PRECONDITION_FAILED'],
  async handle(engine, actor, { name }) {
    const api = await engine.apis.create(actor, name);
    return { apiId: api.id, name: api.name };
  },
});
