import { notReplaced } from '../../../core/plan.ts';
import type { CreditsRecord, PlanLimit } from '../../../core/records.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import type { CreditsView } from '../../../engine/admin/keys/keyView.ts';
import type { UsedLimit } from '../../../engine/admin/limits/usedLimits.ts';
import { RefillObject } from '../counters/creditFields.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { PlanId } from '../schema/idFields.ts';
import { toNamedRatelimit, toRefillObject } from '../keys/keyObject.ts';
import { UsedRatelimitObject } from '../counters/keyLimitFields.ts';
import { strict, Text, Whole } from '../../../model/schema/schemas.ts';

export const HeldPlanObject = component(
  'HeldPlan',
  strict({
    id: PlanId,
    name: field(Text, 'The name of the plan.', 'pro'),
    ratelimits: listOf(
      UsedRatelimitObject,
      'The limits of the plan that apply to the holder, with what it has used of them.',
    ),
    refill: optional(RefillObject, 'The refill of the plan. Absent when there is none, or the holder has its own.'),
    maxKeys: optional(
      Whole,
      'How many keys the plan allows an identity. Absent when any number is allowed, and for a key.',
      5,
    ),
  }),
  'A plan as it is for one of its holders. A field that the holder has itself takes precedence.',
  { id: EXAMPLE.planId, name: 'pro', ratelimits: [] },
);

/** A holder of a plan, with what it has used of each limit of the plan. */
export interface HeldPlanView extends CreditsView {
  readonly plan: PlanRecord | null;
  readonly planUsed: readonly UsedLimit[];
}

/** What the holder has itself. */
interface Holder {
  readonly credits: CreditsRecord | null;
  readonly limits: readonly { readonly name: string }[];
  /** Absent: the holder is a key. */
  readonly maxKeys?: number | null;
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
