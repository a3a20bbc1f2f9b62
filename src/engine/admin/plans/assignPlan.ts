import type { AccountChange } from '../../../core/accountChange.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { heldRefill, isMoveDue } from '../../../core/plan.ts';
import type { PlanMove, PlanRecord } from '../../../core/records.ts';
import type { Change } from '../../../storage/port/storage.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import { findHolder, type PlanHolder, planOf } from '../../planOf.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { type Actor, SYSTEM } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { requireOn } from '../change/requireRight.ts';
import { type IdentityReference, loadIdentity } from '../identities/loadIdentity.ts';
import { KeyReader } from '../keys/keyReader.ts';
import { type Move, moveCredits } from './moveCredits.ts';
import type { PlanAdmin } from './planAdmin.ts';

export type HolderReference = IdentityReference | { readonly keyId: string };

export interface Assignment {
  readonly holder: HolderReference;
  /** null: the holder leaves its plan. */
  readonly planId: string | null;
  readonly when: 'now' | 'nextRefill';
  /** What becomes of the balance: it stays, or begins anew with that of the new plan. */
  readonly balance: PlanMove['balance'];
}

/** How often a move is made again after another change came first. The next use of the holder tries again. */
const MAX_TRIES = 5;

/** Moves holders from plan to plan. A holder refers to its plan and copies nothing of it. */
export class AssignPlan {
  readonly #context: AdminContext;
  readonly #plans: PlanAdmin;
  readonly #keys: KeyReader;

  constructor(context: AdminContext, plans: PlanAdmin) {
    this.#context = context;
    this.#plans = plans;
    this.#keys = new KeyReader(context);
  }

  async assign(actor: Actor, { holder, planId, when, balance }: Assignment): Promise<PlanHolder> {
    const { storage, changes } = this.#context;
    // Checked before anything is read, so that the answer does not reveal whether the holder or the plan exists.
    if (planId !== null) requireOn(actor, 'plan.assign_plan', planId, 'plan', planId);
    return changes.apply(async () => {
      const before = await this.#load(actor, holder);
      const { record } = before;
      const plan = planId === null ? null : await this.#plans.load(actor, 'plan.assign_plan', planId);
      const from = await planOf(storage.records, record);
      if (when === 'now') {
        const { change, after } = await this.#move(actor, before, { from, to: plan, balance, atMs: null });
        return { change, answer: () => after };
      }
      const planMove = { planId, atMs: this.#nextRefillMs(before, from), balance };
      const after = withFields(before, { planMove, updatedAtMs: storage.ledger.nowMs() });
      const accounts = touchAccounts(record, after.record.revision).map((change) =>
        // The sweep looks at it then.
        change.account === record.credits?.account ? { ...change, dueAtMs: planMove.atMs } : change,
      );
      return { change: await this.#written(actor, { before, after, accounts, plan }), answer: () => after };
    });
  }

  /**
   * Carries out a move of an identity or a key whose time has come. Does nothing when another node came first. It waits in no queue,
   * because a change of the same holder may wait for it.
   */
  async moveIfDue(holderId: string): Promise<void> {
    const { storage, changes } = this.#context;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await findHolder(storage.records, holderId);
      const move = before?.record.planMove ?? null;
      if (before === null || move === null || !isMoveDue(before.record, storage.ledger.nowMs())) return;
      const [from, to] = [await planOf(storage.records, before.record), await planOf(storage.records, move)];
      const { change } = await this.#move(SYSTEM, before, { from, to, balance: move.balance, atMs: move.atMs });
      if (await changes.tryOnce(change)) return;
    }
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

  async #move(actor: Actor, before: PlanHolder, move: Move): Promise<{ change: Change; after: PlanHolder }> {
    const { record } = before;
    const { credits, accounts: moved } = await moveCredits(this.#context, record, move);
    const planId = move.to?.id ?? null;
    const updatedAtMs = this.#context.storage.ledger.nowMs();
    const after = withFields(before, { planId, planMove: null, credits, updatedAtMs });
    const touched = touchAccounts({ ...record, credits: null }, after.record.revision);
    const accounts = [...moved, ...touched];
    return { change: await this.#written(actor, { before, after, accounts, plan: move.to }), after };
  }

  async #written(actor: Actor, { before, after, accounts, plan }: Assigned): Promise<Change> {
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
    const formerDigests = await this.#keys.formerDigests(after.record.id);
    return { kind: 'updateKey', key: after.record, expect, formerDigests };
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

function withFields(holder: PlanHolder, fields: ChangedFields): PlanHolder {
  const changed = { ...fields, revision: holder.record.revision + 1 };
  return holder.kind === 'key'
    ? { kind: 'key', record: { ...holder.record, ...changed } }
    : { kind: 'identity', record: { ...holder.record, ...changed } };
}

function identityCarriesPlan(keyId: string): AppError {
  const what = `The key ${keyId} belongs to an identity, which carries the plan of its keys`;
  return new AppError('PRECONDITION_FAILED', `${what}. Name the identity instead of the key.`);
}
