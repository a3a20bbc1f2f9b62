import type { AccountState } from '../../../core/account.ts';
import type { HeldCredits } from '../../../core/records.ts';
import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import { versionAt } from '../../../core/refillPlan.ts';
import type { RefillPlans } from '../../refill/refillPlans.ts';

/** Credits as they are now. */
export interface CreditsView {
  readonly remaining: number | null;
  /** The last boundary that refilled them; null = none yet. */
  readonly lastRefillAtMs: number | null;
  readonly nextRefillAtMs: number | null;
}

/** A key as a reader sees it: the record and its balance. */
export interface KeyView extends CreditsView, Omit<KeyWithIdentity, 'secretUntilMs'> {
  readonly lastUsedAtMs: number | null;
}

export interface ViewInput extends KeyWithIdentity {
  readonly state: AccountState | undefined;
  readonly refills: RefillPlans;
  readonly nowMs: number;
  readonly lastUsedAtMs: number | null;
}

export function viewKey({ key, identity, permissions, state, refills, nowMs, lastUsedAtMs }: ViewInput): KeyView {
  return { key, identity, permissions, lastUsedAtMs, ...viewCredits(key.credits, state, refills, nowMs) };
}

export function viewCredits(
  credits: HeldCredits | null,
  state: AccountState | undefined,
  refills: RefillPlans,
  nowMs: number,
): CreditsView {
  const refill = credits?.refill ?? null;
  const remaining = state === undefined ? null : refills.balance(state, refill, nowMs);
  if (refill === null) return { remaining, lastRefillAtMs: null, nextRefillAtMs: null };
  const { rule } = versionAt(refill, nowMs);
  if (rule === null) return { remaining, lastRefillAtMs: null, nextRefillAtMs: null };
  const { startMs, nextMs } = refills.epoch(refill, nowMs);
  return { remaining, lastRefillAtMs: startMs > rule.sinceMs ? startMs : null, nextRefillAtMs: nextMs };
}
