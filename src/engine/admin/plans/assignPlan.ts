import type { AccountChange } from '../../../core/account.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { heldRefill } from '../../../core/plan.ts';
import type { CreditsRecord, IdentityRecord, PlanRecord, RefillRules } from '../../../core/records.ts';
import { planUntil, runningEpoch, stepAt } from '../../../core/refillPlan.ts';
import type { Change } from '../../../storage/port/storage.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { type Actor, SYSTEM } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { requireOn } from '../change/requireRight.ts';
import { type IdentityReference, loadIdentity } from '../identities/loadIdentity.ts';
import type { PlanAdmin } from './planAdmin.ts';
import { planOf } from '../../planOf.ts';

export interface Assignment {
  readonly holder: IdentityReference;
  /** null: the holder leaves its plan. */
  readonly planId: string | null;
  readonly when: 'now' | 'nextRefill';
  /** What becomes of the balance: it stays, or begins anew with that of the new plan. */
  readonly balance: 'keep' | 'reset';
}

/** How often a move is made again after another change came first. The next use of the identity tries again. */
const MAX_TRIES = 5;

/** Moves holders from plan to plan. A holder refers to its plan and copies nothing of it. */
export class AssignPlan {
  readonly #context: AdminContext;
  readonly #plans: PlanAdmin;

  constructor(context: AdminContext, plans: PlanAdmin) {
    this.#context = context;
    this.#plans = plans;
  }

  async assign(actor: Actor, { holder, planId, when, balance }: Assignment): Promise<IdentityRecord> {
    const { storage, changes } = this.#context;
    // Before anything is read: the answer must not tell which of the two there is.
    if (planId !== null) requireOn(actor, 'plan.assign_plan', planId, 'plan', planId);
    return changes.apply(async () => {
      const before = await loadIdentity(this.#context, actor, 'identity.update_identity', holder);
      const plan = planId === null ? null : await this.#plans.load(actor, 'plan.assign_plan', planId);
      const from = await planOf(storage.records, before);
      if (when === 'now') {
        const { change, after } = await this.#move(actor, before, { from, to: plan, balance, atMs: null });
        return { change, answer: () => after };
      }
      const planMove = { planId, atMs: this.#nextRefillMs(before, from), balance };
      const after = { ...before, planMove, revision: before.revision + 1, updatedAtMs: storage.ledger.nowMs() };
      const accounts = touchAccounts(before, after.revision).map((change) =>
        // The sweep looks at it then.
        change.account === before.credits?.account ? { ...change, dueAtMs: planMove.atMs } : change,
      );
      return { change: written(actor, before, after, accounts, plan), answer: () => after };
    });
  }

  /**
   * Carries out a move whose time has come. Does nothing when another node came first. It waits in no queue, because a change of the
   * same identity may wait for it.
   */
  async moveIfDue(identityId: string): Promise<void> {
    const { storage, changes } = this.#context;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await storage.records.findIdentityById(identityId);
      const move = before?.planMove ?? null;
      if (before === null || move === null || storage.ledger.nowMs() < move.atMs) return;
      const [from, to] = [await planOf(storage.records, before), await planOf(storage.records, move)];
      const { change } = await this.#move(SYSTEM, before, { from, to, balance: move.balance, atMs: move.atMs });
      if (await changes.tryOnce(change)) return;
    }
  }

  #nextRefillMs({ credits, externalId }: IdentityRecord, from: PlanRecord | null): number {
    const { storage, refills } = this.#context;
    const rules = heldRefill(credits, from);
    const nextMs = rules === null ? Infinity : refills.epoch(rules, storage.ledger.nowMs()).nextMs;
    if (nextMs < Number.MAX_SAFE_INTEGER) return nextMs;
    const who = `The identity ${repeatable(externalId)}`;
    throw new AppError('PRECONDITION_FAILED', `${who} has no refill to wait for. Use "when": "now".`);
  }

  async #move(actor: Actor, before: IdentityRecord, move: Move): Promise<{ change: Change; after: IdentityRecord }> {
    const { storage } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const revision = before.revision + 1;
    const { credits, account } = await this.#moveCredits(before, move, nowMs, revision);
    const planId = move.to?.id ?? null;
    const after: IdentityRecord = { ...before, planId, planMove: null, credits, revision, updatedAtMs: nowMs };
    const touched = touchAccounts({ ...before, credits: null }, revision);
    const accounts = account === null ? touched : [account, ...touched];
    return { change: written(actor, before, after, accounts, move.to), after };
  }

  async #moveCredits(
    before: IdentityRecord,
    { from, to, balance, atMs }: Move,
    nowMs: number,
    revision: number,
  ): Promise<{ credits: CreditsRecord | null; account: AccountChange | null }> {
    const { storage, refills } = this.#context;
    const { credits, revision: expect } = before;
    const remaining = to?.remaining ?? null;
    if (credits === null) {
      if (remaining === null) return { credits: null, account: null };
      const [account = 0] = await storage.ledger.reserveAccounts(1);
      const opened: CreditsRecord = { account, refill: null, ofPlan: true };
      const start = startOf(heldRefill(opened, to), nowMs);
      const change = { account, expect, open: 'credits', refill: null, set: remaining, ...start, revision } as const;
      return { credits: opened, account: change };
    }
    const { account } = credits;
    if (remaining === null && credits.ofPlan) {
      return { credits: null, account: { account, expect, close: true, refill: null, revision } };
    }
    const [old, next] = [heldRefill(credits, from), heldRefill(credits, to)];
    const set = balance === 'reset' && remaining !== null ? { set: remaining } : {};
    if (atMs === null) {
      const refill = refills.planOrNull(old, account, nowMs);
      const start = isSameSource(credits, from, to) ? {} : startOf(next, nowMs);
      return { credits, account: { account, expect, refill, ...set, ...start, revision } };
    }
    const [state] = await storage.ledger.read([account]);
    const markMs = state?.mark ?? 0;
    const until = planUntil(old, markMs, atMs - 1);
    // The refill at which it moves is one of the new plan, also where that has other boundaries.
    const steps = [...until.steps, ...(next === null ? [] : stepAt(next, atMs))];
    const refill = { ...until, startMs: atMs, steps };
    return { credits, account: { account, expect, refill, ...set, ...startAfter(next, atMs), revision } };
  }
}

/** Its refill comes from the same rules as before. */
function isSameSource({ refill }: CreditsRecord, from: PlanRecord | null, to: PlanRecord | null): boolean {
  return refill !== null || from?.id === to?.id;
}

interface Move {
  readonly from: PlanRecord | null;
  readonly to: PlanRecord | null;
  readonly balance: Assignment['balance'];
  /** The instant of a move that was put off; null = now. */
  readonly atMs: number | null;
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

function written(
  actor: Actor,
  before: IdentityRecord,
  after: IdentityRecord,
  accounts: readonly AccountChange[],
  plan: PlanRecord | null,
): Change {
  const entry = auditEntry(actor, {
    action: 'identity.assignPlan',
    target: before.id,
    before: { planId: before.planId, planMove: before.planMove },
    after: { planId: after.planId, planMove: after.planMove },
    ids: { externalId: before.externalId },
    counter: accounts.findIndex(({ account }) => account === (after.credits ?? before.credits)?.account),
  });
  const join = plan === null ? [] : [{ kind: 'joinPlan', planId: plan.id, expect: plan.revision } as const];
  return {
    writes: [{ kind: 'updateIdentity', identity: after, expect: before.revision }, ...join],
    accounts,
    entries: [entry],
  };
}
