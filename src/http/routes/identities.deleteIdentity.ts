import { defineRoute } from './route.ts';
import { IdentityId } from '../shapes/idFields.ts';
import { Empty, strict } from '../shapes/schemas.ts';

export const deleteIdentity = defineRoute({
  path: '/v1/identities.deleteIdentity',
  method: 'POST',
  summary: 'Delete an identity with its limits and credits.',
  description: 'Its keys stay, without an owner.',
  rights: ['identity.<identityId>.delete_identity'],
  request: strict({ identityId: IdentityId }),
  response: Empty,
  example: { request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { identityId }) {
    await engine.identities.delete(actor, identityId);
    return {};
  },
});
