import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const deleteKeys = defineRoute({
  path: '/v1/apis.deleteKeys',
  method: 'POST',
  summary:
    'Delete all keys of an api at once. `permanent` also removes their records; otherwise each key can be restored.',
  rights: ['api.<apiId>.delete_key'],
  request: strict({ apiId: Id, permanent: Type.Optional(Type.Boolean()) }),
  response: strict({ deletedKeys: Type.Integer() }),
  example: { request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' }, response: { deletedKeys: 120 } },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { apiId, permanent = false }) {
    return { deletedKeys: await engine.apis.deleteKeys(actor, apiId, permanent) };
  },
});
