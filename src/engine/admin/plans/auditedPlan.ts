import type { PlanRecord } from '../../../model/plans.ts';
import { auditedCounters } from '../keys/auditedKey.ts';

/** A plan as the audit log shows it, with the rule that is in force. */
export function auditedPlan(plan: PlanRecord): Record<string, unknown> {
  const refill = plan.refills.at(-1)?.rule ?? null;
  const limits = plan.limits.map((limit) => ({ ...limit, account: null }));
  return {
    name: plan.name,
    meta: plan.meta === null ? {} : (JSON.parse(plan.meta) as object),
    remaining: plan.remaining,
    ...(plan.metered ? { metered: true } : {}),
    ...auditedCounters({ credits: { account: 0, refill }, limits }),
    roles: plan.roleIds,
    permissions: plan.permissionIds,
    maxKeys: plan.maxKeys,
    alerts: plan.alerts,
  };
}
