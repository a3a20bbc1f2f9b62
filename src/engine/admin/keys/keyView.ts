import { heldCredits } from '../../../core/plan.ts';
import { type Grant, lastingOf, leftOf } from '../../../core/pockets.ts';
import type { HeldCredits } from '../../../core/records.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import type { ReadAccount } from '../../../storage/port/storage.ts';
import { versionAt } from '../../../core/refillPlan.ts';
import type { RefillPlans } from '../../refill/refillPlans.ts';
import type { UsedLimit } from '../limits/usedLimits.ts';

/** Credits as they are now. */
export interface CreditsView {
  readonly remaining: number | null;
  /** What reservations hold. It is not in `remaining`. */
  readonly held: number;
  /** The part of `remaining` that was granted and expires, soonest first. */
  readonly grants: readonly Grant[];
  /** The part of it that was granted and does not expire. */
  readonly lasting: number;
  /** The last boundary that refilled them; null = none yet. */
  readonly lastRefillAtMs: number | null;
  readonly nextRefillAtMs: number | null;
}

/** A key as a reader sees it: the record and its balance. */
export interface KeyView extends CreditsView, Omit<KeyWithIdentity, 'secretUntilMs'> {
  readonly lastUsedAtMs: number | null;
  /** The plan that the key is on itself; null = none. */
  readonly plan: PlanRecord | null;
}

/** With what was used of its own limits and of those of its plan, each in their order. */
export interface KeyDetails extends KeyView {
  readonly used: readonly UsedLimit[];
  readonly planUsed: readonly UsedLimit[];
}

export interface ViewInput extends KeyWithIdentity {
  readonly state: ReadAccount | undefined;
  readonly refills: RefillPlans;
  readonly nowMs: number;
  readonly lastUsedAtMs: number | null;
  readonly plan: PlanRecord | null;
}

export function viewKey({ state, refills, nowMs, secretUntilMs: _secretUntilMs, ...found }: ViewInput): KeyView {
  return { ...found, ...viewCredits(heldCredits(found.key.credits, found.plan), state, refills, nowMs) };
}

export function viewCredits(
  credits: HeldCredits | null,
  state: ReadAccount | undefined,
  refills: RefillPlans,
  nowMs: number,
): CreditsView {
  const refill = credits?.refill ?? null;
  const balance = viewBalance(credits, state, refills, nowMs);
  const rule = refill === null ? null : versionAt(refill, nowMs).rule;
  if (refill === null || rule === null) return { ...balance, lastRefillAtMs: null, nextRefillAtMs: null };
  const { startMs, nextMs } = refills.epoch(refill, nowMs);
  return { ...balance, lastRefillAtMs: startMs > rule.sinceMs ? startMs : null, nextRefillAtMs: nextMs };
}

function viewBalance(
  credits: HeldCredits | null,
  account: ReadAccount | undefined,
  refills: RefillPlans,
  nowMs: number,
): Pick<CreditsView, 'remaining' | 'held' | 'grants' | 'lasting'> {
  if (credits === null || account === undefined) return { remaining: null, held: 0, grants: [], lasting: 0 };
  const { state, pockets } = refills.brought(account, credits.refill, nowMs);
  const remaining = credits.metered ? null : state.value;
  if (pockets === null) return { remaining, held: 0, grants: [], lasting: 0 };
  const { held } = pockets;
  return { remaining, held, grants: leftOf(pockets, state.value), lasting: lastingOf(pockets, state.value) };
}
