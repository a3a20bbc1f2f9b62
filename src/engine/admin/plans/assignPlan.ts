import { AppError, repeatable } from '../../../core/errors.ts';
import { heldRefill } from '../../../core/plan.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { CreditCall, PlanBalance } from '../../../core/records.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import type { Change } from '../../../storage/port/storage.ts';
import { type PlanHolder, planOf } from '../../planOf.ts';
import { type Actor, requireOn } from '../change/requireRight.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { type IdentityReference, loadIdentity } from '../identities.ts';
import { KeyReader } from '../keys/readKeys.ts';
import type { PlanAdmin } from './planAdmin.ts';
import { type PlanMoves, withFields } from './planMoves.ts';

export type HolderReference = IdentityReference | { readonly keyId: string };

interface Assignment {
  readonly holder: HolderReference;
  /** null: the holder leaves its plan. */
  readonly planId: string | null;
  readonly when: 'now' | 'nextRefill';
  readonly balance: PlanBalance;
  /** Assigns the plan that the holder is on already once more: its balance is set again. */
  readonly force?: boolean;
  readonly idempotencyId?: string | null;
}

interface Assigned {
  readonly holder: PlanHolder;
  /** The call was made before under the same idempotency key. */
  readonly replayed: boolean;
}

/** Puts holders on plans, now or at their next refill. */
export class AssignPlan {
  readonly #context: AdminContext;
  readonly #plans: PlanAdmin;
  readonly #moves: PlanMoves;
  readonly #keys: KeyReader;

  constructor(context: AdminContext, plans: PlanAdmin, moves: PlanMoves) {
    this.#context = context;
    this.#plans = plans;
    this.#moves = moves;
    this.#keys = new KeyReader(context);
  }

  /**
   * The plan that the holder is on already changes nothing but a move that waits, which is withdrawn: a payment that is reported twice
   * must not fill a balance twice.
   */
  async assign(actor: Actor, assignment: Assignment): Promise<Assigned> {
    const { planId } = assignment;
    // Checked before anything is read, so that the answer does not reveal whether the holder or the plan exists.
    if (planId !== null) requireOn(actor, 'plan.assign_plan', planId, 'plan', planId);
    return this.#context.changes.apply(async () => {
      const before = await this.#load(actor, assignment.holder);
      const call = this.#callOf(assignment, before);
      const earlier = call === null ? null : await this.#earlier(call);
      // Also when the plan was deleted meanwhile.
      if (earlier !== null) return unchanged(before, true);
      const plan = planId === null ? null : await this.#plans.load(actor, 'plan.assign_plan', planId);
      const isSame = before.record.planId === planId && !assignment.force;
      if (isSame && before.record.planMove === null && call === null) return unchanged(before, false);
      const drafted = isSame
        ? await this.#withdraw(actor, before, plan)
        : await this.#draft(actor, before, plan, assignment);
      const writes = call === null ? [] : [{ kind: 'insertCreditCall' as const, call }];
      const change = { ...drafted.change, writes: [...drafted.change.writes, ...writes] };
      return { change, answer: () => ({ holder: drafted.after, replayed: false }) };
    });
  }

  async #draft(
    actor: Actor,
    before: PlanHolder,
    plan: PlanRecord | null,
    { when, balance }: Assignment,
  ): Promise<Drafted> {
    const { storage, refills } = this.#context;
    const { record } = before;
    const from = await planOf(storage.records, record);
    if (when === 'now') return this.#moves.draft(actor, before, { from, to: plan, balance, delayed: null });
    const planId = plan?.id ?? null;
    const planMove = { planId, atMs: this.#nextRefillMs(before, from), balance };
    const nowMs = storage.ledger.nowMs();
    const after = withFields(before, { planMove, updatedAtMs: nowMs });
    const accounts = touchAccounts(record, after.record.revision).map((change) => {
      if (change.account !== record.credits?.account) return change;
      const refill = refills.planOrNull(heldRefill(record.credits, from), change.account, nowMs);
      // The sweep looks at it then.
      return { ...change, refill, dueAtMs: planMove.atMs };
    });
    return { change: await this.#moves.written(actor, { before, after, accounts, plan }), after };
  }

  /** It stays on its plan. */
  async #withdraw(actor: Actor, before: PlanHolder, plan: PlanRecord | null): Promise<Drafted> {
    if (before.record.planMove === null) return { change: { writes: [], accounts: [] }, after: before };
    const after = withFields(before, { planMove: null, updatedAtMs: this.#context.storage.ledger.nowMs() });
    const accounts = touchAccounts(before.record, after.record.revision);
    return { change: await this.#moves.written(actor, { before, after, accounts, plan }), after };
  }

  #callOf(
    { planId, when, balance, force = false, idempotencyId = null }: Assignment,
    { record }: PlanHolder,
  ): CreditCall | null {
    if (idempotencyId === null) return null;
    const { storage, system } = this.#context;
    const atMs = storage.ledger.nowMs();
    const id = makeId('assign', atMs, system.randomBytes(ID_RANDOM_BYTES));
    const reason = JSON.stringify({ planId, when, balance, force });
    return { id, owner: record.id, kind: 'assign', amount: 0, expiresAtMs: null, reason, idempotencyId, atMs };
  }

  /** The same call, if it was made before under this idempotency key; null = the key is new. */
  async #earlier({ owner, idempotencyId, kind, reason }: CreditCall): Promise<CreditCall | null> {
    const earlier = await this.#context.storage.statements.findCreditCall(owner, idempotencyId ?? '');
    if (earlier === null || (earlier.kind === kind && earlier.reason === reason)) return earlier;
    const what = earlier.kind === 'assign' ? `another assignment (${earlier.id})` : `a ${earlier.kind} (${earlier.id})`;
    throw new AppError('CONFLICT', `This idempotency key was used for ${what}. Use a new one.`);
  }

  async #load(actor: Actor, holder: HolderReference): Promise<PlanHolder> {
    if (!('keyId' in holder)) {
      const record = await loadIdentity(this.#context, actor, 'identity.update_identity', holder);
      return { kind: 'identity', record };
    }
    const { key: record } = await this.#keys.load(actor, 'api.update_key', holder.keyId);
    if (record.identityId !== null) throw identityCarriesPlan(holder.keyId);
    return { kind: 'key', record };
  }

  #nextRefillMs(holder: PlanHolder, from: PlanRecord | null): number {
    const { storage, refills } = this.#context;
    const rules = heldRefill(holder.record.credits, from);
    const nextMs = rules === null ? Infinity : refills.epoch(rules, storage.ledger.nowMs()).nextMs;
    if (nextMs < Number.MAX_SAFE_INTEGER) return nextMs;
    const who =
      holder.kind === 'key' ? `The key ${holder.record.id}` : `The customer ${repeatable(holder.record.externalId)}`;
    throw new AppError('PRECONDITION_FAILED', `${who} has no refill to wait for. Set "when" to "now".`);
  }
}

interface Drafted {
  readonly change: Change;
  readonly after: PlanHolder;
}

function unchanged(holder: PlanHolder, replayed: boolean) {
  return { change: { writes: [], accounts: [] }, answer: (): Assigned => ({ holder, replayed }) };
}

function identityCarriesPlan(keyId: string): AppError {
  const what = `The key ${keyId} belongs to a customer, and uses the plan of its customer`;
  return new AppError(
    'PRECONDITION_FAILED',
    `${what}. Name the customer (externalId or identityId) instead of the key.`,
  );
}
