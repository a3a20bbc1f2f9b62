import type { AccountChange } from '../../../core/accountChange.ts';
import { heldRefill, isMoveDue, planUntil, stepAt } from '../../../core/plan.ts';
import type { CreditsRecord, PlanBalance, RefillRules } from '../../../core/records.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import { lastingOf, leftOf } from '../../../core/expiringCredits.ts';
import type { Change, Storage } from '../../../storage/port/storage.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import { findHolder, type PlanHolder, planOf } from '../../planOf.ts';
import type { RefillSchedules } from '../../refillSchedules.ts';
import { auditEntry } from '../audit.ts';
import { type Actor, SYSTEM } from '../change/requireRight.ts';
import { closing, openedByPlan, startOf, touchAccounts } from '../change/counters.ts';
import type { SendChange } from '../change/applyChange.ts';

/** When the next reservation of an account expires, as `settle` has read it. */
type HeldUntil = AccountChange['heldUntil'];

/** A move that was put off until the next refill, which has come. */
interface DelayedMove {
  readonly atMs: number;
  readonly heldUntil: HeldUntil;
}

interface Move {
  readonly from: PlanRecord | null;
  readonly to: PlanRecord | null;
  readonly balance: PlanBalance;
  /** null = it happens now. */
  readonly delayed: DelayedMove | null;
}

interface PlanMovesContext {
  readonly storage: Storage;
  readonly refills: RefillSchedules;
  readonly sender: SendChange;
}

/** Moves holders from plan to plan. A holder refers to its plan and copies nothing of it. */
export class PlanMoves {
  readonly #context: PlanMovesContext;

  constructor(context: PlanMovesContext) {
    this.#context = context;
  }

  /**
   * Carries out the move of an identity or a key whose time has come, as of that time. False: another change came first. Only `settle` calls
   * it, after all that happened to the credits before.
   */
  async carryOut(holderId: string, heldUntil: HeldUntil): Promise<boolean> {
    const { storage, sender } = this.#context;
    const before = await findHolder(storage.records, holderId);
    const move = before?.record.planMove ?? null;
    if (before === null || move === null || !isMoveDue(before.record, storage.ledger.nowMs())) return false;
    const [from, to] = [await planOf(storage.records, before.record), await planOf(storage.records, move)];
    const delayed = { atMs: move.atMs, heldUntil };
    const { change } = await this.draft(SYSTEM, before, { from, to, balance: move.balance, delayed });
    return (await sender.send(change)).status === 'done';
  }

  /** The change that moves a holder. */
  async draft(actor: Actor, before: PlanHolder, move: Move): Promise<{ change: Change; after: PlanHolder }> {
    const { record } = before;
    const { credits, accounts: moved } = await movedCredits(this.#context, record, move);
    const planId = move.to?.id ?? null;
    const updatedAtMs = this.#context.storage.ledger.nowMs();
    const after = withFields(before, { planId, planMove: null, credits, updatedAtMs });
    const touched = touchAccounts({ ...record, credits: null }, after.record.revision);
    const accounts = [...moved, ...touched];
    return { change: await this.written(actor, { before, after, accounts, plan: move.to }), after };
  }

  /** The records and the audit entry of an assignment. */
  async written(actor: Actor, { before, after, accounts, plan }: Assigned): Promise<Change> {
    const { planId, planMove, credits } = after.record;
    const entry = auditEntry(actor, {
      action: `${before.kind}.assignPlan`,
      target: before.record.id,
      before: { planId: before.record.planId, planMove: before.record.planMove },
      after: { planId, planMove },
      ids: before.kind === 'key' ? { apiId: before.record.apiId } : { externalId: before.record.externalId },
      counter: accounts.findIndex(({ account }) => account === (credits ?? before.record.credits)?.account),
    });
    const join = plan === null ? [] : [{ kind: 'joinPlan', planId: plan.id, expect: plan.revision } as const];
    return { writes: [await this.#writeOf(after, before.record.revision), ...join], accounts, entries: [entry] };
  }

  async #writeOf(after: PlanHolder, expect: number): Promise<RecordWrite> {
    if (after.kind === 'identity') return { kind: 'updateIdentity', identity: after.record, expect };
    const former = await this.#context.storage.records.listFormerSecrets([after.record.id]);
    return { kind: 'updateKey', key: after.record, expect, formerDigests: former.map(({ digest }) => digest) };
  }
}

interface Assigned {
  readonly before: PlanHolder;
  readonly after: PlanHolder;
  readonly accounts: readonly AccountChange[];
  /** The plan that it joins, now or later; null = none. */
  readonly plan: PlanRecord | null;
}

type ChangedFields = Partial<Pick<PlanHolder['record'], 'planId' | 'planMove' | 'credits' | 'updatedAtMs'>>;

export function withFields(holder: PlanHolder, fields: ChangedFields): PlanHolder {
  const changed = { ...fields, revision: holder.record.revision + 1 };
  return holder.kind === 'key'
    ? { kind: 'key', record: { ...holder.record, ...changed } }
    : { kind: 'identity', record: { ...holder.record, ...changed } };
}

interface MovedCredits {
  readonly credits: CreditsRecord | null;
  /** Empty: the holder has no counter, neither before nor after. That of the credits comes first. */
  readonly accounts: readonly AccountChange[];
}

/** The credits of a holder that moves from plan to plan. They get the next revision of the holder. */
async function movedCredits(
  { storage, refills }: PlanMovesContext,
  { id: owner, credits, revision: expect }: PlanHolder['record'],
  { from, to, balance, delayed }: Move,
): Promise<MovedCredits> {
  const atMs = delayed?.atMs ?? storage.ledger.nowMs();
  const revision = expect + 1;
  const remaining = to?.remaining ?? null;
  const opened = to === null ? null : openedByPlan(to, { id: owner, revision: expect }, atMs);
  const open = async (closed: readonly AccountChange[]): Promise<MovedCredits> => {
    if (opened === null) return { credits: null, accounts: closed };
    const made = opened((await storage.ledger.reserveAccounts(1))[0] ?? 0);
    return { credits: made.credits, accounts: [{ ...made.account, ...(delayed === null ? {} : { atMs }) }, ...closed] };
  };
  if (credits === null) return open([]);
  const { account } = credits;
  const common = { account, owner, expect, revision, ...(delayed === null ? {} : asOf(delayed)) };
  const isOther = opened === null || (credits.metered === true) !== (to?.metered === true);
  const isBought = opened === null && balance === 'upgrade' && (await hasGrants(storage, account, atMs));
  if (credits.ofPlan && isOther && !isBought) {
    return open([{ ...closing(credits, owner, expect, revision), ...common }]);
  }
  if (credits.metered) return { credits, accounts: [{ ...common, refill: null }] };
  // What was granted outlives the plan, in a counter of the holder's own.
  const isLeft = credits.ofPlan === true && isBought;
  const kept: CreditsRecord = isLeft ? { account, refill: credits.refill } : credits;
  const [old, next] = [heldRefill(credits, from), heldRefill(kept, to)];
  const set = isLeft ? { setOwn: 0 } : remaining === null ? {} : setFor(balance, remaining);
  if (delayed === null) {
    const refill = refills.planOrNull(old, account, atMs);
    const start = isSameSource(credits, from, to) ? {} : startOf(next, atMs);
    return { credits: kept, accounts: [{ ...common, refill, ...set, ...start }] };
  }
  const [state] = await storage.ledger.read([account]);
  const until = planUntil(old, state?.mark ?? 0, atMs - 1);
  // The refill at which it moves is one of the new plan, also where that has other boundaries.
  const steps = [...until.steps, ...(next === null ? [] : stepAt(next, atMs))];
  const refill = { ...until, startMs: atMs, steps };
  return { credits: kept, accounts: [{ ...common, refill, ...set, ...startAfter(next, atMs) }] };
}

/** Something is left of what was granted. */
async function hasGrants({ ledger }: Storage, account: number, atMs: number): Promise<boolean> {
  const [state] = await ledger.read([account]);
  if (state?.pockets == null) return false;
  const left = leftOf(state.pockets, state.value).some(({ expiresAtMs }) => expiresAtMs > atMs);
  return left || lastingOf(state.pockets, state.value) > 0;
}

function setFor(balance: PlanBalance, remaining: number): Pick<AccountChange, 'reset' | 'setOwn'> {
  if (balance === 'reset') return { reset: remaining };
  return balance === 'upgrade' ? { setOwn: remaining } : {};
}

function asOf({ atMs, heldUntil }: DelayedMove): Pick<AccountChange, 'atMs' | 'heldUntil'> {
  return { atMs, ...(heldUntil === undefined ? {} : { heldUntil }) };
}

/** Its refill comes from the same rules as before. */
function isSameSource({ refill }: CreditsRecord, from: PlanRecord | null, to: PlanRecord | null): boolean {
  return refill !== null || from?.id === to?.id;
}

/** All boundaries up to the instant of a move count as applied. */
function startAfter(rules: RefillRules | null, atMs: number): { mark: number; dueAtMs: number } {
  return { mark: atMs, dueAtMs: startOf(rules, atMs).dueAtMs };
}
