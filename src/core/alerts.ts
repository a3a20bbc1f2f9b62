import { AppError } from './errors.ts';
import type { Alerts, PlanTerms } from './records.ts';

/** Alerts as a caller sets them. null removes a field, and an absent one stays. */
export interface AlertsPatch {
  readonly expiresWithinMs?: number | null;
  readonly creditsBelow?: number | null;
}

/** The alerts after a patch; null = none. */
export function patchedAlerts(before: Alerts | null, patch: AlertsPatch | null | undefined): Alerts | null {
  if (patch === undefined) return before;
  if (patch === null) return null;
  const { expiresWithinMs = before?.expiresWithinMs, creditsBelow = before?.creditsBelow } = patch;
  return alertsOf(expiresWithinMs ?? null, creditsBelow ?? null);
}

export function alertsOf(expiresWithinMs: number | null, creditsBelow: number | null): Alerts | null {
  if (expiresWithinMs === null && creditsBelow === null) return null;
  return {
    ...(expiresWithinMs === null ? {} : { expiresWithinMs }),
    ...(creditsBelow === null ? {} : { creditsBelow }),
  };
}

/** Without a counter there is nothing to fall below: the threshold goes with the counter. */
export function alertsWithoutCredits(alerts: Alerts | null): Alerts | null {
  return alertsOf(alerts?.expiresWithinMs ?? null, null);
}

/** Below this balance of a holder `credits.low` is sent; null = never. */
export function creditsBelowOf(own: Alerts | null, plan: PlanTerms | null): number | null {
  return own?.creditsBelow ?? plan?.alerts?.creditsBelow ?? null;
}

/** Below this balance an event may be due: at 0 always, and below the threshold. */
export function tellsBelow(own: Alerts | null, plan: PlanTerms | null): number {
  return creditsBelowOf(own, plan) ?? 1;
}

/**
 * Refuses a new threshold that makes no sense: without credits it has no effect, and above the balance its event would be sent at once.
 * `balance`: what there is after the change; null = no credits.
 */
export function requireThreshold(patch: AlertsPatch | null | undefined, balance: number | null): void {
  const creditsBelow = patch?.creditsBelow ?? null;
  if (creditsBelow === null) return;
  if (balance === null) {
    throw new AppError('BAD_REQUEST', 'alerts.creditsBelow needs credits: send remaining too.');
  }
  if (creditsBelow > balance) {
    const what = `alerts.creditsBelow must be at most the credits that are left (${balance}), got ${creditsBelow}`;
    throw new AppError('BAD_REQUEST', `${what}. Set a lower threshold, or add credits first.`);
  }
}
