import { defineRoute } from './route.ts';
import { RootKeyId } from '../shapes/schema/commonFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const revokeRootKey = defineRoute({
  path: '/v1/rootKeys.revokeRootKey',
  method: 'POST',
  summary: 'Revoke a root key permanently, with all its secrets.',
  description: 'Revoking it again changes nothing.',
  rights: ['root.*.revoke_root_key'],
  request: strict({ rootKeyId: RootKeyId }),
  response: Empty,
  example: { request: { rootKeyId: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { rootKeyId }) {
    await engine.rootKeys.revoke(rootKeyId, actor);
    return {};
  },
});
