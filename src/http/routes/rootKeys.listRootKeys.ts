import { Type } from 'typebox';

import type { RootKeyRecord } from '../../model/access.ts';
import { component, field, optional, listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { RootKeyId } from '../shapes/schema/commonFields.ts';
import { strict, Text, Whole } from '../../model/schema/schemas.ts';
import { defineRoute } from './route.ts';

const RootKeyObject = component(
  'RootKey',
  strict({
    id: RootKeyId,
    start: field(Text, 'The beginning of the secret, by which a person recognises the root key.', 'root_4Wd4'),
    name: optional(Text, 'The name of the root key, for people. Absent when it has none.', 'deploy'),
    permissions: field(Type.Array(Text), 'The rights of the root key. `*` is every right.', ['api.*.create_key']),
    createdAt: field(Whole, 'When the root key was created, in unix milliseconds.', 1773576000000),
    expires: optional(
      Whole,
      'When the root key expires, in unix milliseconds. Absent when it does not expire.',
      1798761600000,
    ),
    revokedAt: optional(
      Whole,
      'When the root key was revoked, in unix milliseconds. Absent when it is not revoked.',
      1783036800000,
    ),
  }),
  'A root key, without its secret. Fields that are not set are absent.',
  {
    id: EXAMPLE.rootKeyId,
    start: 'root_4Wd4',
    name: 'deploy',
    permissions: ['api.*.create_key'],
    createdAt: 1773576000000,
  },
);

/** A root key as it is shown: never its secret, and nothing made from it. */
function toRootKeyObject({ id, start, name, rights, createdAtMs, expiresAtMs, revokedAtMs }: RootKeyRecord) {
  return {
    id,
    start,
    ...(name === null ? {} : { name }),
    permissions: rights,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expires: expiresAtMs }),
    ...(revokedAtMs === null ? {} : { revokedAt: revokedAtMs }),
  };
}

export const listRootKeys = defineRoute({
  path: '/v1/rootKeys.listRootKeys',
  method: 'GET',
  summary: 'List the root keys, oldest first, including revoked and expired ones.',
  description: 'Secrets are not shown.',
  rights: ['root.*.read_root_key'],
  request: strict({}),
  response: strict({ rootKeys: listOf(RootKeyObject, 'All root keys, oldest first.') }),
  example: {
    request: {},
    response: {
      rootKeys: [
        {
          id: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R',
          start: 'root_4Wd4',
          name: 'deploy',
          permissions: ['api.*.create_key'],
          createdAt: 1773576000000,
        },
      ],
    },
  },
  errors: [],
  async handle(engine, actor) {
    return { rootKeys: (await engine.rootKeys.list(actor)).map(toRootKeyObject) };
  },
});
