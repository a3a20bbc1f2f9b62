import type { AccountChange } from '../../../core/accountChange.ts';
import { heldRefill } from '../../../core/plan.ts';
import type { CreditsRecord, PlanMove, PlanRecord, RefillRules } from '../../../core/records.ts';
import { planUntil, runningEpoch, stepAt } from '../../../core/refillPlan.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { closing, type Counters } from '../change/counters.ts';

export interface Move {
  readonly from: PlanRecord | null;
  readonly to: PlanRecord | null;
  readonly balance: PlanMove['balance'];
  /** The instant of a move that was put off; null = now. */
  readonly atMs: number | null;
}

interface MovedCredits {
  readonly credits: CreditsRecord | null;
  /** Empty: the holder has no counter, neither before nor after. That of the credits comes first. */
  readonly accounts: readonly AccountChange[];
}

/** The credits of a holder that moves from plan to plan. They get the next revision of the holder. */
export async function moveCredits(
  { storage, refills }: Pick<AdminContext, 'storage' | 'refills'>,
  { id: owner, credits, revision: expect }: Pick<Counters, 'id' | 'credits' | 'revision'>,
  { from, to, balance, atMs }: Move,
): Promise<MovedCredits> {
  const nowMs = storage.ledger.nowMs();
  const revision = expect + 1;
  const remaining = to?.remaining ?? null;
  const brings = remaining !== null || to?.metered === true;
  const open = async (closed: readonly AccountChange[]): Promise<MovedCredits> => {
    const [account = 0] = await storage.ledger.reserveAccounts(1);
    const metered = to?.metered ? ({ metered: true } as const) : {};
    const opened: CreditsRecord = { account, refill: null, ofPlan: true, ...metered };
    const start = startOf(heldRefill(opened, to), nowMs);
    const set = remaining === null ? {} : { set: remaining };
    const change = { account, expect, open: 'credits', ...metered, refill: null, ...set, ...start, revision } as const;
    return { credits: opened, accounts: [change, ...closed] };
  };
  if (credits === null) return brings ? open([]) : { credits: null, accounts: [] };
  const { account } = credits;
  if (credits.ofPlan && (!brings || (credits.metered === true) !== (to?.metered === true))) {
    const closed = [closing(credits, owner, expect, revision)];
    return brings ? open(closed) : { credits: null, accounts: closed };
  }
  if (credits.metered) return { credits, accounts: [{ account, expect, refill: null, revision }] };
  const [old, next] = [heldRefill(credits, from), heldRefill(credits, to)];
  const set = balance === 'reset' && remaining !== null ? { set: remaining } : {};
  if (atMs === null) {
    const refill = refills.planOrNull(old, account, nowMs);
    const start = isSameSource(credits, from, to) ? {} : startOf(next, nowMs);
    return { credits, accounts: [{ account, expect, refill, ...set, ...start, revision }] };
  }
  const [state] = await storage.ledger.read([account]);
  const markMs = state?.mark ?? 0;
  const until = planUntil(old, markMs, atMs - 1);
  // The refill at which it moves is one of the new plan, also where that has other boundaries.
  const steps = [...until.steps, ...(next === null ? [] : stepAt(next, atMs))];
  const refill = { ...until, startMs: atMs, steps };
  return { credits, accounts: [{ account, expect, refill, ...set, ...startAfter(next, atMs), revision }] };
}

/** Its refill comes from the same rules as before. */
function isSameSource({ refill }: CreditsRecord, from: PlanRecord | null, to: PlanRecord | null): boolean {
  return refill !== null || from?.id === to?.id;
}

/** Boundaries up to now count as applied: new rules refill at their next one. */
function startOf(rules: RefillRules | null, nowMs: number): { mark: number; dueAtMs: number } {
  if (rules === null) return { mark: nowMs, dueAtMs: 0 };
  const { startMs, nextMs } = runningEpoch(rules, nowMs);
  return { mark: startMs, dueAtMs: nextMs };
}

/** All boundaries up to the instant of a move count as applied. */
function startAfter(rules: RefillRules | null, atMs: number): { mark: number; dueAtMs: number } {
  return { mark: atMs, dueAtMs: startOf(rules, atMs).dueAtMs };
}
