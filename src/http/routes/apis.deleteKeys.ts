import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { Flag, strict, Whole } from '../../model/schema/schemas.ts';

export const deleteKeys = defineRoute({
  path: '/v1/apis.deleteKeys',
  method: 'POST',
  summary: 'Delete all keys of an api at once.',
  description: '`permanent` also removes their records; otherwise each key can be restored.',
  rights: ['api.<apiId>.delete_key'],
  command: { asksFirst: 'always' },
  request: strict({
    apiId: ApiId,
    permanent: optional(
      Flag,
      'true: the records of the keys are removed too, and the keys cannot be restored. false when absent.',
      false,
    ),
  }),
  response: strict({ deletedKeys: field(Whole, 'How many keys were deleted.', 120) }),
  example: { request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' }, response: { deletedKeys: 120 } },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { apiId, permanent = false }) {
    return { deletedKeys: await engine.apis.deleteKeys(actor, apiId, permanent) };
  },
});
