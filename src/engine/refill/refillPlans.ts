import { type AccountMark, type AccountState, refilled, type RefillPlan } from '../../core/account.ts';
import { Calendar } from '../../core/calendar.ts';
import type { RefillRule } from '../../core/records.ts';
import { planRefill, toStep } from '../../core/refillPlan.ts';
import { dropFirst } from '../dropFirst.ts';

/** Marks to remember: each is asked for again at once. */
const MAX_MARKS = 10_000;

/** A mark that the ledger has told, and when. */
interface ToldMark {
  readonly markMs: number;
  readonly atMs: number;
}

/**
 * Makes the ledger's refill plans from refill rules. An account in use was refilled at the boundary before, so plans begin there. For
 * another account the ledger tells its mark, and the next plan begins at that.
 */
export class RefillPlans {
  readonly #calendar = new Calendar();
  /** The usual plan of each rule, for the running epoch: keys that were made alike share their rule. */
  readonly #usual = new WeakMap<RefillRule, RefillPlan>();
  readonly #told = new Map<number, ToldMark>();

  plan(rule: RefillRule, account: number, nowMs: number): RefillPlan {
    const usual = this.#usualPlan(rule, nowMs);
    const told = this.#told.size === 0 ? undefined : this.#told.get(account);
    // A later epoch begins at what this one has left behind.
    return told !== undefined && told.atMs >= usual.startMs ? this.planFrom(rule, told.markMs, nowMs) : usual;
  }

  planOrNull(rule: RefillRule | null, account: number, nowMs: number): RefillPlan | null {
    return rule === null ? null : this.plan(rule, account, nowMs);
  }

  /** The running epoch of a rule. */
  epoch(rule: RefillRule, nowMs: number): Pick<RefillPlan, 'startMs' | 'nextMs'> {
    return this.#usualPlan(rule, nowMs);
  }

  /** All boundaries since a mark. */
  planFrom(rule: RefillRule, markMs: number, nowMs: number): RefillPlan {
    return planRefill(rule, this.#calendar.epochAt(rule, nowMs), markMs);
  }

  /** The ledger did not take a plan, because the account has this mark. */
  learn({ account, markMs }: AccountMark, nowMs: number): void {
    if (this.#told.size >= MAX_MARKS) dropFirst(this.#told);
    this.#told.set(account, { markMs, atMs: nowMs });
  }

  /** The balance that a reader sees: the stored value with all refills that are due. */
  balance(state: AccountState, rule: RefillRule | null, nowMs: number): number {
    if (rule === null || state.mark >= this.#usualPlan(rule, nowMs).startMs) return state.value;
    return refilled(state, this.planFrom(rule, state.mark, nowMs)).value;
  }

  #usualPlan(rule: RefillRule, nowMs: number): RefillPlan {
    const known = this.#usual.get(rule);
    // Both ends are compared, because a clock can be set back.
    if (known !== undefined && known.startMs <= nowMs && nowMs < known.nextMs) return known;
    const { number, startMs, nextMs, previous } = this.#calendar.epochAt(rule, nowMs);
    const plan = { startMs, nextMs, fromMs: previous.startMs, steps: [toStep(rule, number - previous.number)] };
    this.#usual.set(rule, plan);
    return plan;
  }
}
