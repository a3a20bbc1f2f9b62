import { Type } from 'typebox';

import { notReplaced } from '../../../core/plan.ts';
import { type CreditsRecord, DEFAULT_LIMIT_NAME, type PlanLimit } from '../../../core/records.ts';
import type { CreditsView, KeyDetails } from '../../../engine/admin/readKeys.ts';
import type { UsedLimit } from '../../../engine/admin/usedLimits.ts';
import { RefillObject } from '../counters/creditFields.ts';
import { UsedDefaultRatelimit, UsedNamedRatelimit, UsedRatelimitObject } from '../counters/keyLimitFields.ts';
import {
  KEY_EXAMPLE,
  KEY_FIELDS,
  toKeyObject,
  toNamedRatelimit,
  toRatelimit,
  toRefillObject,
} from '../keys/keyObject.ts';
import { PlanId } from '../schema/commonFields.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { strict, Text, Whole } from '../../../model/schema/schemas.ts';

export const HeldPlanObject = component(
  'HeldPlan',
  strict({
    id: PlanId,
    name: field(Text, 'The name of the plan.', 'pro'),
    ratelimits: listOf(
      UsedRatelimitObject,
      'The limits of the plan that apply to this customer or key, and what it has used of them.',
    ),
    refill: optional(
      RefillObject,
      'The refill of the plan. Absent when there is none, or when the customer or key has its own.',
    ),
    maxKeys: optional(
      Whole,
      'How many keys the plan allows a customer. Absent when any number is allowed, and for a key.',
      5,
    ),
  }),
  'The plan of one customer or key, with what it has used. What the customer or key sets itself takes precedence.',
  { id: EXAMPLE.planId, name: 'pro', ratelimits: [] },
);

/** A holder of a plan, with what it has used of each limit of the plan. */
interface HeldPlanView extends CreditsView {
  readonly plan: PlanRecord | null;
  readonly planUsed: readonly UsedLimit[];
}

/** Limits that the holder replaces by its own are left out. */
export function toHeldPlan(holder: Holder, view: HeldPlanView): { plan?: object } {
  const { plan, planUsed } = view;
  if (plan === null) return {};
  const applied = notReplaced(plan.limits, holder.limits);
  const ratelimits = plan.limits.flatMap((limit, i) =>
    applied.includes(limit) ? toUsedRatelimit(limit, planUsed[i]) : [],
  );
  const rule = holder.credits?.refill == null ? (plan.refills.at(-1)?.rule ?? null) : null;
  return {
    plan: {
      id: plan.id,
      name: plan.name,
      ratelimits,
      ...toRefillObject(rule, view),
      ...(holder.maxKeys === undefined || plan.maxKeys === null ? {} : { maxKeys: plan.maxKeys }),
    },
  };
}

export function toUsedRatelimit(limit: PlanLimit, used: UsedLimit | undefined): object {
  return { ...toSharedRatelimit(limit), used: used?.used ?? 0, reset: used?.resetAtMs ?? 0 };
}

export function toSharedRatelimit(limit: PlanLimit): object {
  return { ...toNamedRatelimit(limit), autoApply: limit.autoApply !== false };
}

/** What the holder has itself. */
interface Holder {
  readonly credits: CreditsRecord | null;
  readonly limits: readonly { readonly name: string }[];
  /** Absent: the holder is a key. */
  readonly maxKeys?: number | null;
}

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
      'What the key gets from its plan. Absent when it is on none. A key of a customer uses the plan of its customer.',
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
