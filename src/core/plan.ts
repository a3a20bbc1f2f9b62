import type { CreditsRecord, HeldCredits, OnPlan, PlanTerms, RefillRules } from './records.ts';

/** What refills the credits of a holder: its own rule, else the rules of its plan; null = nothing. */
export function heldRefill(own: CreditsRecord | null, plan: PlanTerms | null): RefillRules | null {
  if (own === null || own.refill !== null || own.metered) return own?.refill ?? null;
  return plan === null || plan.refills.every(({ rule }) => rule === null) ? null : plan.refills;
}

export function heldCredits(own: CreditsRecord | null, plan: PlanTerms | null): HeldCredits | null {
  if (own === null) return null;
  return { account: own.account, refill: heldRefill(own, plan), ...(own.metered ? { metered: true } : {}) };
}

interface Named {
  readonly name: string;
}

/** The limits of a plan that its holder does not replace by one of the same name. */
export function notReplaced<L extends Named>(limits: readonly L[], own: readonly Named[]): readonly L[] {
  return own.length === 0 ? limits : limits.filter(({ name }) => !own.some((limit) => limit.name === name));
}

/** Its move to another plan was put off until an instant that has come. */
export function isMoveDue({ planMove }: Pick<OnPlan, 'planMove'>, nowMs: number): boolean {
  return planMove !== null && nowMs >= planMove.atMs;
}

export function heldMaxKeys(own: { readonly maxKeys: number | null }, plan: PlanTerms | null): number | null {
  return own.maxKeys ?? plan?.maxKeys ?? null;
}
