import { defineRoute } from './route.ts';
import { RootKeyId } from '../shapes/schema/commonFields.ts';
import { strict } from '../../model/schema/schemas.ts';
import { NewRootSecret, OverlapMs } from '../shapes/keys/secretFields.ts';

export const rotateRootKey = defineRoute({
  path: '/v1/rootKeys.rotateRootKey',
  method: 'POST',
  summary: 'Give a root key a new secret.',
  description:
    'Its id and rights stay. The old secret stays valid for `overlapMs`, then it is rejected. A root key cannot rotate one that has more rights than itself.',
  rights: ['root.*.create_root_key'],
  request: strict({ rootKeyId: RootKeyId, overlapMs: OverlapMs }),
  response: NewRootSecret,
  example: {
    request: { rootKeyId: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R', overlapMs: 86400000 },
    response: { rootKeyId: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R', key: 'root_9Wd4XbZe2RpVcT7uNqKs5F6hJg3M' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { rootKeyId, overlapMs }) {
    return { rootKeyId, key: await engine.rootKeys.rotate(rootKeyId, overlapMs, actor) };
  },
});
