import type { OnPlan } from '../../../core/records.ts';
import type { Params } from './statement.ts';

/** The columns that a holder has of its plan. `next_plan_id` is there for its index. */
export function planColumnsOf({ planId, planMove }: OnPlan): Record<string, Params[number]> {
  return {
    plan_id: planId,
    plan_move: planMove === null ? null : JSON.stringify(planMove),
    next_plan_id: planMove?.planId ?? null,
  };
}
