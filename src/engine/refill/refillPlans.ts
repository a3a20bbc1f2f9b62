import { type AccountState, refilled, type RefillPlan } from '../../core/account.ts';
import { Calendar } from '../../core/calendar.ts';
import type { RefillRule } from '../../core/records.ts';

/** Makes the ledger's refill plans from refill rules. */
export class RefillPlans {
  readonly #calendar = new Calendar();

  plan(rule: RefillRule, nowMs: number): RefillPlan {
    const epoch = this.#calendar.epochAt(rule, nowMs);
    return {
      epoch: epoch.number,
      startMs: epoch.startMs,
      nextMs: epoch.nextMs,
      amount: rule.amount,
      mode: rule.mode,
      max: rule.max,
    };
  }

  planOrNull(rule: RefillRule | null, nowMs: number): RefillPlan | null {
    return rule === null ? null : this.plan(rule, nowMs);
  }

  /** The balance that a reader sees: the stored value with all refills that are due. */
  balance(state: AccountState, rule: RefillRule | null, nowMs: number): number {
    return refilled(state, this.planOrNull(rule, nowMs)).value;
  }
}
