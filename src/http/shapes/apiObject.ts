import type { ApiRecord } from '../../model/apis.ts';
import { component, field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId, WorkspaceId } from './schema/commonFields.ts';
import { DefaultRatelimitObject } from './counters/keyLimitFields.ts';
import { ApiName, Flag, strict, Text, Whole } from '../../model/schema/schemas.ts';

export const ApiNameField = field(
  ApiName,
  'The name of the api, for people: 3 to 256 characters, not blank. It need not be unique.',
  'payments',
);

/** An api as getApi and listApis show it. Fields that are not set are left out. */
export const ApiObject = component(
  'Api',
  strict({
    id: ApiId,
    workspaceId: WorkspaceId,
    name: field(Text, 'The name of the api, for people.', 'payments'),
    defaultPrefix: optional(
      Text,
      'The prefix of new keys that are created without one. Absent when none is set.',
      'pay',
    ),
    defaultByteLength: optional(
      Whole,
      'The number of random bytes in the secret of new keys, unless `keys.createKey` names another. Absent when none is set: 16.',
      24,
    ),
    defaultRatelimit: optional(
      DefaultRatelimitObject,
      'The rate limit of new keys that are created without one. Absent when none is set.',
    ),
    deleteProtection: field(Flag, 'true: `apis.deleteApi` is refused with DELETE_PROTECTED.', false),
  }),
  'An api: a group of keys that belong to one of your services. Fields that are not set are absent.',
  { id: EXAMPLE.apiId, workspaceId: EXAMPLE.workspaceId, name: 'payments', deleteProtection: false },
);

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
