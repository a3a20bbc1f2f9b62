import { dropFirst } from '../basics/dropFirst.ts';
import type { AccountMark, RefillSchedule } from '../core/account.ts';
import { AccountBook, type Booked } from '../core/accountBook.ts';
import { Calendar, type Epoch, type Schedule } from '../core/calendar.ts';
import { planRefill, type RunningEpoch, runningEpoch } from '../core/plan.ts';
import type { RefillRules } from '../core/records.ts';
import type { ReadAccount } from '../storage/port/storage.ts';

/** Marks to remember. A mark is needed only until its request is decided again, at once. */
const MAX_MARKS = 10_000;

/** A mark that the ledger has told, and when. */
interface ToldMark {
  readonly markMs: number;
  readonly atMs: number;
}

/**
 * Makes the ledger's refill plans from refill rules. An account in use was refilled at the previous boundary, so plans begin there. For any
 * other account the ledger answers with its mark, and the next plan begins at that mark.
 */
export class RefillSchedules {
  readonly #calendar = new Calendar();
  /** The usual plan of each rule, for the running epoch: keys that were made alike share their rule. */
  readonly #usual = new WeakMap<RefillRules, RefillSchedule>();
  readonly #told = new Map<number, ToldMark>();

  plan(rules: RefillRules, account: number, nowMs: number): RefillSchedule {
    const usual = this.#usualPlan(rules, nowMs);
    const told = this.#told.size === 0 ? undefined : this.#told.get(account);
    // A mark that was learned in an earlier epoch is out of date.
    return told !== undefined && told.atMs >= usual.startMs ? this.planFrom(rules, told.markMs, nowMs) : usual;
  }

  planOrNull(rules: RefillRules | null, account: number, nowMs: number): RefillSchedule | null {
    return rules === null ? null : this.plan(rules, account, nowMs);
  }

  epoch(rules: RefillRules, nowMs: number): RunningEpoch {
    return this.#usualPlan(rules, nowMs);
  }

  /** All boundaries since a mark. */
  planFrom(rules: RefillRules, markMs: number, nowMs: number): RefillSchedule {
    return planRefill(rules, markMs, nowMs, this.#epochAt);
  }

  /** The ledger did not take a plan, because the account has this mark. */
  learn({ account, markMs }: AccountMark, nowMs: number): void {
    if (this.#told.size >= MAX_MARKS) dropFirst(this.#told);
    this.#told.set(account, { markMs, atMs: nowMs });
  }

  /** The balance that a reader sees: the stored value with all refills and expiries that are due. */
  balance(account: ReadAccount, rules: RefillRules | null, nowMs: number): number {
    return this.brought(account, rules, nowMs).state.value;
  }

  /** The account as a reader sees it. */
  brought(account: ReadAccount, rules: RefillRules | null, nowMs: number): Booked {
    const plan = rules === null ? null : this.planFrom(rules, account.mark, nowMs);
    return new AccountBook(account, account.pockets ?? null).upTo(plan, nowMs).booked(account.revision);
  }

  #usualPlan(rules: RefillRules, nowMs: number): RefillSchedule {
    const known = this.#usual.get(rules);
    // Both ends are compared, because a clock can be set back.
    if (known !== undefined && known.startMs <= nowMs && nowMs < known.nextMs) return known;
    const { startMs } = runningEpoch(rules, nowMs, this.#epochAt);
    const { startMs: beforeMs } = runningEpoch(rules, startMs - 1);
    const plan = this.planFrom(rules, beforeMs, nowMs);
    this.#usual.set(rules, plan);
    return plan;
  }

  readonly #epochAt = (schedule: Schedule, atMs: number): Epoch => this.#calendar.epochAt(schedule, atMs);
}
