import { AppError, repeatable } from '../../../core/errors.ts';
import { heldRefill } from '../../../core/plan.ts';
import type { PlanMove, PlanRecord } from '../../../core/records.ts';
import { type PlanHolder, planOf } from '../../planOf.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { requireOn } from '../change/requireRight.ts';
import { type IdentityReference, loadIdentity } from '../identities/loadIdentity.ts';
import { KeyReader } from '../keys/keyReader.ts';
import type { PlanAdmin } from './planAdmin.ts';
import { type PlanMoves, withFields } from './planMoves.ts';

export type HolderReference = IdentityReference | { readonly keyId: string };

export interface Assignment {
  readonly holder: HolderReference;
  /** null: the holder leaves its plan. */
  readonly planId: string | null;
  readonly when: 'now' | 'nextRefill';
  /** What becomes of the balance: it stays, or begins anew with that of the new plan. */
  readonly balance: PlanMove['balance'];
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

  async assign(actor: Actor, { holder, planId, when, balance }: Assignment): Promise<PlanHolder> {
    const { storage, changes, refills } = this.#context;
    // Checked before anything is read, so that the answer does not reveal whether the holder or the plan exists.
    if (planId !== null) requireOn(actor, 'plan.assign_plan', planId, 'plan', planId);
    return changes.apply(async () => {
      const before = await this.#load(actor, holder);
      const { record } = before;
      const plan = planId === null ? null : await this.#plans.load(actor, 'plan.assign_plan', planId);
      const from = await planOf(storage.records, record);
      if (when === 'now') {
        const { change, after } = await this.#moves.draft(actor, before, { from, to: plan, balance, delayed: null });
        return { change, answer: () => after };
      }
      const planMove = { planId, atMs: this.#nextRefillMs(before, from), balance };
      const nowMs = storage.ledger.nowMs();
      const after = withFields(before, { planMove, updatedAtMs: nowMs });
      const accounts = touchAccounts(record, after.record.revision).map((change) => {
        if (change.account !== record.credits?.account) return change;
        const refill = refills.planOrNull(heldRefill(record.credits, from), change.account, nowMs);
        // The sweep looks at it then.
        return { ...change, refill, dueAtMs: planMove.atMs };
      });
      return { change: await this.#moves.written(actor, { before, after, accounts, plan }), answer: () => after };
    });
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
      holder.kind === 'key' ? `The key ${holder.record.id}` : `The identity ${repeatable(holder.record.externalId)}`;
    throw new AppError('PRECONDITION_FAILED', `${who} has no refill to wait for. Use "when": "now".`);
  }
}

function identityCarriesPlan(keyId: string): AppError {
  const what = `The key ${keyId} belongs to an identity, which carries the plan of its keys`;
  return new AppError('PRECONDITION_FAILED', `${what}. Name the identity instead of the key.`);
}
