import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { optional } from '../../model/schema/described.ts';
import { IDENTITY_REFERENCE, toIdentityReference } from '../shapes/holders/identityObject.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const deleteIdentity = defineRoute({
  path: '/v1/identities.deleteIdentity',
  method: 'POST',
  summary: 'Delete a customer with its limits and credits.',
  description:
    'A customer that has keys is not deleted (409), unless `keys` says what becomes of them. Then the keys are changed first, in small steps. If the call is interrupted, the customer stays with the rest of its keys; repeat the call to continue.',
  rights: ['identity.<identityId>.delete_identity'],
  fieldRights: [{ fields: ['keys'], rights: ['api.*.update_key', 'api.*.delete_key'] }],
  command: { asksFirst: 'always' },
  request: strict({
    ...IDENTITY_REFERENCE,
    keys: optional(
      Type.Enum(['disable', 'delete', 'detach']),
      '`disable`: the keys stay, without a customer, and answer DISABLED. `delete`: they are deleted, as with `keys.deleteKey`. `detach`: they stay valid, without the customer and its limits and credits.',
      'disable',
    ),
  }),
  response: Empty,
  example: { request: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', keys: 'disable' }, response: {} },
  errors: ['NOT_FOUND', 'CONFLICT'],
  async handle(engine, actor, { keys = null, ...reference }) {
    await engine.deleteIdentity.delete(actor, toIdentityReference(reference), keys);
    return {};
  },
});
