import { Type } from 'typebox';

import { DEFAULT_LIMIT_NAME } from '../../../core/records.ts';
import type { KeyDetails } from '../../../engine/admin/keys/keyView.ts';
import { UsedDefaultRatelimit, UsedNamedRatelimit } from '../counters/keyLimitFields.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { HeldPlanObject, toHeldPlan } from './heldPlanObject.ts';
import { KEY_EXAMPLE, KEY_FIELDS, toKeyObject, toNamedRatelimit, toRatelimit } from '../keys/keyObject.ts';
import { strict, Text } from '../../../model/schema/schemas.ts';

/** A key by itself: with what it has used of its limits and of those of its plan. */
export const KeyDetailsObject = component(
  'KeyDetails',
  strict({
    ...KEY_FIELDS,
    ratelimit: optional(
      UsedDefaultRatelimit,
      'The rate limit with the name `default`, and what was used of it. Absent when there is none.',
    ),
    ratelimits: optional(
      listOf(UsedNamedRatelimit, 'The rate limits with names of your choice.'),
      'The further rate limits of the key, and what was used of them. Absent when there are none.',
    ),
    directPermissions: field(
      Type.Array(Text),
      'The slugs of the permissions that the key has itself, without those of its roles. `[]` when it has none.',
      ['documents.read'],
    ),
    plan: optional(
      HeldPlanObject,
      'What the key gets from its plan. Absent when it is on none. A key of an identity follows the plan of that.',
    ),
  }),
  'A key, without its secret. Fields that are not set are absent.',
  { ...KEY_EXAMPLE, directPermissions: [] },
);

export function toKeyDetails(details: KeyDetails, workspaceId: string): object {
  return {
    ...toKeyObject(details, workspaceId),
    ...toUsedLimits(details),
    directPermissions: details.permissions?.direct.map(({ slug }) => slug) ?? [],
    ...toHeldPlan(details.key, details),
  };
}

function toUsedLimits({ key, used }: KeyDetails): object {
  const limits = key.limits.map((limit, i) => ({
    limit,
    counted: { used: used[i]?.used ?? 0, reset: used[i]?.resetAtMs ?? 0 },
  }));
  const main = limits.find(({ limit }) => limit.name === DEFAULT_LIMIT_NAME);
  const others = limits.filter((each) => each !== main);
  return {
    ...(main === undefined ? {} : { ratelimit: { ...toRatelimit(main.limit), ...main.counted } }),
    ...(others.length === 0
      ? {}
      : { ratelimits: others.map(({ limit, counted }) => ({ ...toNamedRatelimit(limit), ...counted })) }),
  };
}
