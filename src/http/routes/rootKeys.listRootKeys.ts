import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { RootKeyObject, toRootKeyObject } from '../shapes/rootKeyObject.ts';
import { strict } from '../../model/schema/schemas.ts';

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
