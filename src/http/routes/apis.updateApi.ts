import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { ApiName, ByteLength, DurationMs, Id, orNull, Positive, Prefix, strict } from '../shapes/schemas.ts';

export const updateApi = defineRoute({
  path: '/v1/apis.updateApi',
  method: 'POST',
  summary:
    'Change an api: its name, the defaults for its new keys, and its protection from deletion. null clears a field; a field that is left out stays as it is.',
  rights: ['api.<apiId>.update_api'],
  request: strict({
    apiId: Id,
    name: Type.Optional(ApiName),
    defaultPrefix: Type.Optional(orNull(Prefix)),
    defaultByteLength: Type.Optional(orNull(ByteLength)),
    defaultRatelimit: Type.Optional(
      orNull(strict({ limit: Positive, duration: DurationMs, async: Type.Optional(Type.Boolean()) })),
    ),
    deleteProtection: Type.Optional(Type.Boolean()),
  }),
  response: strict({}),
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
