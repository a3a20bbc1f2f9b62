import { defineRoute } from './route.ts';
import { badFields, reservedPrefix } from '../shapes/schema/badFields.ts';
import { ApiNameField } from '../shapes/apiObject.ts';
import { optional } from '../../model/schema/described.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { DefaultRatelimit } from '../shapes/counters/keyLimitFields.ts';
import { ByteLength, Empty, Flag, orNull, Prefix, strict } from '../../model/schema/schemas.ts';

export const updateApi = defineRoute({
  path: '/v1/apis.updateApi',
  method: 'POST',
  summary: 'Change an api: its name, the defaults for its new keys, and its protection from deletion.',
  description: 'null clears a field; a field that is left out stays as it is.',
  rights: ['api.<apiId>.update_api'],
  request: strict({
    apiId: ApiId,
    name: optional(ApiNameField),
    defaultPrefix: optional(
      orNull(Prefix),
      'The prefix of new keys that are created without one: 1 to 16 of the characters A-Z a-z 0-9 _ . -, and not `root`, `session` or `portal`. null: no prefix.',
      'pay',
    ),
    defaultByteLength: optional(
      orNull(ByteLength),
      'The number of random bytes in the secret of new keys, from 16 to 255, unless `keys.createKey` names another. null: 16.',
      24,
    ),
    defaultRatelimit: optional(
      orNull(DefaultRatelimit),
      'The rate limit of new keys that are created without one. null: no limit. Existing keys keep theirs.',
      { limit: 100, duration: 60000 },
    ),
    deleteProtection: optional(Flag, 'true: `apis.deleteApi` is refused with DELETE_PROTECTED.', true),
  }),
  response: Empty,
  example: {
    request: {
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      defaultPrefix: 'pay',
      defaultRatelimit: { limit: 100, duration: 60000 },
      deleteProtection: true,
    },
    response: {},
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { apiId, name, defaultPrefix, defaultByteLength, defaultRatelimit, deleteProtection }) {
    const issues = defaultPrefix == null ? [] : reservedPrefix('defaultPrefix', defaultPrefix);
    if (issues.length > 0) throw badFields(issues);
    await engine.apis.update(actor, apiId, {
      ...(name === undefined ? {} : { name }),
      ...(defaultPrefix === undefined ? {} : { defaultPrefix }),
      ...(defaultByteLength === undefined ? {} : { defaultByteLength }),
      ...(defaultRatelimit === undefined ? {} : { defaultLimit: toDefaultLimit(defaultRatelimit) }),
      ...(deleteProtection === undefined ? {} : { isDeleteProtected: deleteProtection }),
    });
    return {};
  },
});

function toDefaultLimit(ratelimit: { limit: number; duration: number; async?: boolean } | null) {
  if (ratelimit === null) return null;
  return { limit: ratelimit.limit, durationMs: ratelimit.duration, async: ratelimit.async ?? true };
}
