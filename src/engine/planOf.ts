import type { IdentityRecord, PlanRecord } from '../core/records.ts';
import type { Records } from '../storage/port/records.ts';

type OnPlan = Pick<IdentityRecord, 'planId'>;

/** The plan that an identity is on; null = none. */
export async function planOf(records: Pick<Records, 'findPlan'>, { planId }: OnPlan): Promise<PlanRecord | null> {
  return planId === null ? null : records.findPlan(planId);
}

/** The plans of many identities, by their ids, in one read. */
export async function plansOf(
  records: Pick<Records, 'findPlans'>,
  identities: readonly OnPlan[],
): Promise<ReadonlyMap<string, PlanRecord>> {
  const ids = new Set(identities.flatMap(({ planId }) => planId ?? []));
  const found = ids.size === 0 ? [] : await records.findPlans([...ids]);
  return new Map(found.map(({ plan }) => [plan.id, plan]));
}
