import { MAX_COUNT } from '../../../core/bounds.ts';
import { heldRefill } from '../../../core/plan.ts';
import { holdsExpired } from '../../../core/pockets.ts';
import type { RefillRules } from '../../../core/records.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import { fitsAccount, runningLines } from '../../../core/runningLines.ts';
import { type StatementLine } from '../../../core/statement.ts';
import { isExact } from '../../../core/statementRows.ts';
import type { Holder } from '../../../storage/port/statements.ts';
import { type ReadAccount, type Storage, StorageUnavailable } from '../../../storage/port/storage.ts';
import { plansOf } from '../../planOf.ts';
import type { AdminContext } from '../change/adminContext.ts';
import type { RefillPlans } from '../../refill/refillPlans.ts';

/** How often an account is read that changes while it is read. */
const MAX_TRIES = 10;
/** Lines from the running one on. There is more than one only of an account that changes while it is read. */
const MAX_RUNNING_LINES = 10_000;

/** The account that a holder has now, and its lines from the running one on, as they are at this instant. */
export interface RunningAccount {
  readonly account: number;
  /** Stored lines before this instant do not change any more. */
  readonly fromMs: number;
  readonly lines: readonly StatementLine[];
  /** The refill period that runs. */
  readonly markMs: number;
  /** When it ends; null = never. */
  readonly nextMs: number | null;
}

/** A holder with all accounts that it has and had. */
export interface OpenHolder {
  readonly holder: Holder;
  readonly rules: RefillRules | null;
  readonly running: RunningAccount | null;
  /** The last one runs, if one does. */
  readonly accounts: readonly number[];
  /** Those of them that count without a balance. */
  readonly metered: ReadonlySet<number>;
}

export type StatementContext = Pick<AdminContext, 'storage' | 'refills' | 'settle'>;

/** Reads the accounts of holders so that they fit the lines of their statements. */
export class OpenHolders {
  readonly #storage: Storage;
  readonly #refills: RefillPlans;
  readonly #settle: StatementContext['settle'];

  constructor({ storage, refills, settle }: StatementContext) {
    this.#storage = storage;
    this.#refills = refills;
    this.#settle = settle;
  }

  async open(holders: readonly Holder[]): Promise<OpenHolder[]> {
    const { records, statements } = this.#storage;
    const plans = await plansOf(records, holders);
    const ruled = holders.map((holder) => ({ holder, rules: rulesOf(holder, plans.get(holder.planId ?? '') ?? null) }));
    const found = await this.#readRunning(ruled);
    // After the running ones: an account that was closed meanwhile is among these.
    const closed = await statements.closedAccountsOf(holders.map(({ id }) => id));
    const closedOf = Map.groupBy(closed, ({ owner }) => owner);
    return ruled.map((each) => {
      const present = found.get(each.holder.id) ?? null;
      const former = (closedOf.get(each.holder.id) ?? []).filter(({ account }) => account !== present?.account);
      const isMetered = each.holder.credits?.metered === true;
      const running = present === null ? [] : [{ account: present.account, metered: isMetered }];
      const all = [...former, ...running];
      const metered = new Set(all.flatMap((one) => (one.metered ? [one.account] : [])));
      return { ...each, running: present, accounts: all.map(({ account }) => account), metered };
    });
  }

  async #readRunning(ruled: readonly Pick<OpenHolder, 'holder' | 'rules'>[]): Promise<Map<string, RunningAccount>> {
    const found = new Map<string, RunningAccount>();
    let waiting = ruled.filter(({ holder }) => holder.credits !== null);
    for (let tries = 0; waiting.length > 0; tries++) {
      const [first] = waiting;
      if (tries === MAX_TRIES) {
        throw new StorageUnavailable(`The credits of ${first?.holder.id} change while they are read.`);
      }
      waiting = await this.#tryRunning(waiting, found);
    }
    return found;
  }

  /** Answers those that have changed meanwhile, or have just been settled. */
  async #tryRunning<T extends Pick<OpenHolder, 'holder' | 'rules'>>(
    waiting: readonly T[],
    found: Map<string, RunningAccount>,
  ): Promise<T[]> {
    const { ledger, statements } = this.#storage;
    const accounts = waiting.map(({ holder }) => holder.credits?.account ?? 0);
    const states = await ledger.read(accounts);
    const expired = waiting.filter((_, i) => holdsExpired(states[i]?.pockets, ledger.nowMs()));
    for (const { holder } of expired) await this.#settle(holder.id);
    if (expired.length > 0) return [...waiting];
    const spans = accounts.flatMap((account, i) => {
      const state = states[i];
      return state === undefined ? [] : [{ account, fromMs: state.segmentMs }];
    });
    const read = await statements.lines({ spans, untilMs: null, after: null, limit: MAX_RUNNING_LINES });
    const linesOf = Map.groupBy(read, ({ account }) => account);
    const nowMs = ledger.nowMs();
    return waiting.filter(({ holder, rules }, i) => {
      const state = states[i];
      if (state === undefined) return false;
      const account = accounts[i] ?? 0;
      const stored = (linesOf.get(account) ?? []).map(({ line }) => line);
      // Sums that are not exact fit nothing. Whoever asks for their row is told.
      if (stored.every(isExact) && !fitsAccount(state, state.pockets ?? null, stored)) return true;
      found.set(holder.id, { account, ...this.#running(state, stored, rules, nowMs) });
      return false;
    });
  }

  #running(
    state: ReadAccount,
    stored: readonly StatementLine[],
    rules: RefillRules | null,
    nowMs: number,
  ): Omit<RunningAccount, 'account'> {
    const booked = this.#refills.brought(state, rules, nowMs);
    const nextMs = rules === null ? MAX_COUNT : this.#refills.epoch(rules, nowMs).nextMs;
    return {
      fromMs: state.segmentMs,
      lines: runningLines(stored, booked),
      markMs: booked.state.mark,
      nextMs: nextMs === MAX_COUNT ? null : nextMs,
    };
  }
}

/** Nothing refills the credits of a deleted key. If it is restored, the boundaries that have passed do. */
function rulesOf({ credits, isDeleted }: Holder, plan: PlanRecord | null): RefillRules | null {
  return isDeleted ? null : heldRefill(credits, plan);
}
