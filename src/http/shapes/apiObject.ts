import { Type } from 'typebox';

import type { ApiRecord } from '../../core/records.ts';
import { strict } from './schemas.ts';

export const DefaultRatelimitObject = strict({
  limit: Type.Integer(),
  duration: Type.Integer(),
  async: Type.Boolean(),
});

/** An api as getApi and listApis show it. Fields that are not set are left out. */
export const ApiObject = strict({
  id: Type.String(),
  workspaceId: Type.String(),
  name: Type.String(),
  defaultPrefix: Type.Optional(Type.String()),
  defaultByteLength: Type.Optional(Type.Integer()),
  defaultRatelimit: Type.Optional(DefaultRatelimitObject),
  deleteProtection: Type.Boolean(),
});

export function toApiObject(api: ApiRecord, workspaceId: string): object {
  const { id, name, defaultPrefix, defaultByteLength, defaultLimit, isDeleteProtected } = api;
  return {
    id,
    workspaceId,
    name,
    ...(defaultPrefix === null ? {} : { defaultPrefix }),
    ...(defaultByteLength === null ? {} : { defaultByteLength }),
    ...(defaultLimit === null
      ? {}
      : {
          defaultRatelimit: {
            limit: defaultLimit.limit,
            duration: defaultLimit.durationMs,
            async: defaultLimit.async,
          },
        }),
    deleteProtection: isDeleteProtected,
  };
}
