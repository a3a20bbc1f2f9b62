import type { CreditsRecord, HeldCredits, PlanLimit, PlanRecord, RefillRules } from './records.ts';

/** What refills the credits of a holder: its own rule, else the rules of its plan; null = nothing. */
export function heldRefill(own: CreditsRecord | null, plan: PlanRecord | null): RefillRules | null {
  if (own === null || own.refill !== null) return own?.refill ?? null;
  return plan === null || plan.refills.every(({ rule }) => rule === null) ? null : plan.refills;
}

export function heldCredits(own: CreditsRecord | null, plan: PlanRecord | null): HeldCredits | null {
  return own === null ? null : { account: own.account, refill: heldRefill(own, plan) };
}

/** The limits of a plan that its holder does not replace by one of the same name. */
export function planLimits(own: readonly { readonly name: string }[], plan: PlanRecord | null): readonly PlanLimit[] {
  if (plan === null || own.length === 0) return plan?.limits ?? [];
  return plan.limits.filter(({ name }) => !own.some((limit) => limit.name === name));
}

export function heldMaxKeys(own: { readonly maxKeys: number | null }, plan: PlanRecord | null): number | null {
  return own.maxKeys ?? plan?.maxKeys ?? null;
}
