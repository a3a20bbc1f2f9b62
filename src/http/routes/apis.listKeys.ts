import { Type } from 'typebox';

import { MAX_PAGE_SIZE, MAX_SEARCH_LENGTH } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { Decrypt, refuseDecrypt } from './keys.getKey.ts';
import { former, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId, nextCursor, pageCursor, PageLimit } from '../shapes/schema/commonFields.ts';
import { KEY_FLAGS } from '../shapes/keys/keyFields.ts';
import { KeyObject, toKeyObject } from '../shapes/keys/keyObject.ts';
import { cursorAt, ExternalId, Flag, Id, strict, Whole, words } from '../../model/schema/schemas.ts';

export const listKeys = defineRoute({
  path: '/v1/apis.listKeys',
  method: 'GET',
  summary: 'List the keys of an api, oldest first.',
  description:
    '`search` finds keys whose `start` begins with the text, keys whose name or metadata contains words that begin with it, and a key by its id.',
  rights: ['api.<apiId>.read_key', 'api.<apiId>.read_api'],
  fieldRights: [{ fields: ['planId'], rights: ['plan.<planId>.read_plan'] }],
  command: {
    name: 'key list',
    flags: KEY_FLAGS,
    absent: { expires: 'never' },
    columns: [
      'id',
      'start',
      'name',
      'identity',
      'enabled',
      'remaining',
      'metered',
      'ratelimit',
      'expires',
      'createdAt',
    ],
  },
  request: strict({
    apiId: ApiId,
    limit: PageLimit,
    cursor: pageCursor(cursorAt('key'), EXAMPLE.keyId),
    externalId: optional(
      ExternalId,
      'List only the keys of this customer, by your own id of 1 to 256 characters. All customers when absent.',
      EXAMPLE.externalId,
    ),
    ownerId: former(ExternalId, 'Older name of `externalId`, which takes precedence.', EXAMPLE.externalId),
    search: optional(
      words(1, MAX_SEARCH_LENGTH),
      'List only keys whose `start` begins with this text in its exact spelling, or whose name and metadata have words that begin with each of its words, in upper or lower case. 1 to 256 characters.',
      'ann',
    ),
    planId: optional(Id, 'List only the keys on this plan, by themselves or through their customer.', EXAMPLE.planId),
    state: optional(
      Type.Enum(['active', 'disabled', 'expired']),
      'List only keys in this state: `active`, `disabled`, or `expired` and not disabled. Whether their customer is disabled does not count.',
      'disabled',
    ),
    decrypt: Decrypt,
    revalidateKeysCache: former(Flag, 'Accepted for older programs. It has no effect.', false),
  }),
  response: strict({
    keys: listOf(KeyObject, 'The keys of this page.'),
    total: optional(
      Whole,
      'The exact number of records on all pages together, at the time of this call. Absent with `planId` or `state`, and when a word of `search` finds more than 20,000 keys. Then a page before the last can have fewer keys than `limit`, or none.',
      2,
    ),
    cursor: nextCursor(EXAMPLE.keyId),
  }),
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', limit: 1 },
    response: {
      keys: [
        {
          id: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
          start: 'demo_7Kq2',
          apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
          workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
          meta: {},
          createdAt: 1783036800000,
          remaining: 3,
          roles: [],
          permissions: [],
          enabled: true,
        },
      ],
      total: 2,
      cursor: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
    },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, body) {
    const { apiId, limit = MAX_PAGE_SIZE, cursor = null, externalId, ownerId, search = null, decrypt } = body;
    const { planId = null, state = null } = body;
    refuseDecrypt(decrypt);
    const query = { apiId, limit, after: cursor, externalId: externalId ?? ownerId ?? null, search, planId, state };
    const page = await engine.keys.list(actor, query);
    const keys = page.keys.map((view) => toKeyObject(view, engine.storage.workspaceId));
    return {
      keys,
      ...(page.total === null ? {} : { total: page.total }),
      ...(page.cursor === null ? {} : { cursor: page.cursor }),
    };
  },
});
