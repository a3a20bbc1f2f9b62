import { type AlertsPatch, patchedAlerts, requireThreshold } from '../../core/alerts.ts';
import { MAX_PLAN_VERSIONS, MAX_PLANS } from '../../core/bounds.ts';
import {
  type CounterPatch,
  isSameRule,
  meteredHasNoBalance,
  refillNeedsCredits,
  toRefillRule,
  wantedLimits,
} from '../../core/counterPatch.ts';
import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { PlanLimit, RefillVersion, CreditCall, PlanBalance } from '../../core/records.ts';
import type { Operation } from '../../core/rights.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireEverywhere, requireOn } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type Draft, emptyDraft } from './change/applyChange.ts';
import { auditedCounters, KeyReader } from './readKeys.ts';
import { type NamedGrants, ResolveReferences } from './permissions.ts';
import { auditPlain, part, plainOf } from '../../model/plainFields.ts';
import { PLAN_PLAIN, type PlanRecord } from '../../model/plans.ts';
import type { PageQuery } from '../../storage/port/records.ts';
import { heldRefill } from '../../core/plan.ts';
import type { Change } from '../../storage/port/storage.ts';
import { type PlanHolder, planOf } from '../planOf.ts';
import { touchAccounts } from './change/counters.ts';
import { type IdentityReference, loadIdentity } from './identities.ts';
import { type DueCredits, withFields } from '../dueCredits.ts';

export interface PlanPatch extends CounterPatch, NamedGrants, Partial<Pick<PlanRecord, keyof typeof PLAN_PLAIN>> {
  readonly name?: string;
  readonly maxKeys?: number | null;
  readonly alerts?: AlertsPatch | null;
}

/** A plan and how many holders it has. */
export interface PlanView {
  readonly plan: PlanRecord;
  readonly holders: number;
}

const BLANK: Omit<PlanRecord, 'id' | 'name' | 'createdAtMs' | 'refills'> = {
  ...part(PLAN_PLAIN, 'blank'),
  remaining: null,
  metered: false,
  limits: [],
  roleIds: [],
  permissionIds: [],
  maxKeys: null,
  alerts: null,
  updatedAtMs: null,
  revision: 1,
};

/** Creates, reads, changes and deletes plans. Holders are not touched: they refer to their plan. */
export class PlanAdmin {
  readonly #context: AdminContext;
  readonly #references: ResolveReferences;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#references = new ResolveReferences(context);
  }

  async create(actor: Actor, name: string, patch: PlanPatch): Promise<string> {
    const { storage, system, changes } = this.#context;
    requireEverywhere(actor, 'plan.create_plan');
    return changes.apply(async () => {
      await this.#requireFree(name, null);
      if ((await storage.records.countPlans(MAX_PLANS)) >= MAX_PLANS) {
        throw new AppError('PRECONDITION_FAILED', `There are ${MAX_PLANS} plans already. Delete one first.`);
      }
      const nowMs = storage.ledger.nowMs();
      const id = makeId('plan', nowMs, system.randomBytes(ID_RANDOM_BYTES));
      const draft = emptyDraft();
      const remaining = patch.remaining ?? null;
      const metered = patch.metered === true;
      const blank: PlanRecord = { ...BLANK, id, name, remaining, metered, refills: [], createdAtMs: nowMs };
      const plan = await this.#patched(draft, actor, blank, patch);
      draft.writes.push({ kind: 'insertPlan', plan });
      draft.writes.push({ kind: 'requireAtMost', what: 'plans', of: null, most: MAX_PLANS });
      draft.entries.push(
        auditEntry(actor, { action: 'plan.create', target: id, before: null, after: auditedPlan(plan) }),
      );
      return { change: draft, answer: () => id };
    });
  }

  async get(actor: Actor, planId: string): Promise<PlanView> {
    const plan = await this.load(actor, 'plan.read_plan', planId);
    return { plan, holders: await this.#context.storage.records.countHolders(planId) };
  }

  async list(actor: Actor, query: PageQuery): Promise<{ plans: PlanView[]; total: number; cursor: string | null }> {
    requireEverywhere(actor, 'plan.read_plan');
    const { records } = this.#context.storage;
    const { items, total, cursor } = await records.listPlans(query);
    const holders = await Promise.all(items.map(({ id }) => records.countHolders(id)));
    return { plans: items.map((plan, i) => ({ plan, holders: holders[i] ?? 0 })), total, cursor };
  }

  async update(actor: Actor, planId: string, patch: PlanPatch): Promise<PlanView> {
    const { storage, changes } = this.#context;
    const plan = await changes.apply(async () => {
      const before = await this.load(actor, 'plan.update_plan', planId);
      // An empty patch changes nothing and writes no audit entry.
      if (Object.keys(patch).length === 0) return { change: emptyDraft(), answer: () => before };
      if (patch.name !== undefined) await this.#requireFree(patch.name, planId);
      requireSameKind(before, patch);
      const draft = emptyDraft();
      const nowMs = storage.ledger.nowMs();
      const given = { name: patch.name ?? before.name, remaining: patch.remaining ?? before.remaining };
      const next = { ...before, ...given, updatedAtMs: nowMs, revision: before.revision + 1 };
      if (patch.roles !== undefined) requireEverywhere(actor, 'rbac.remove_role_from_key');
      if (patch.permissions !== undefined) requireEverywhere(actor, 'rbac.remove_permission_from_key');
      const after = await this.#patched(draft, actor, next, patch);
      draft.writes.push({ kind: 'updatePlan', plan: after, expect: before.revision });
      const facts = { before: auditedPlan(before), after: auditedPlan(after) };
      draft.entries.push(auditEntry(actor, { action: 'plan.update', target: planId, ...facts }));
      return { change: draft, answer: () => after };
    });
    return { plan, holders: await storage.records.countHolders(planId) };
  }

  async delete(actor: Actor, planId: string): Promise<void> {
    const { storage, changes } = this.#context;
    await changes.apply(async () => {
      const plan = await this.load(actor, 'plan.delete_plan', planId);
      const holders = await storage.records.countHolders(planId);
      if (holders > 0) {
        const holds = holders === 1 ? '1 customer or key. Move it' : `${holders} customers and keys. Move them`;
        throw new AppError(
          'CONFLICT',
          `The plan ${repeatable(plan.name)} has ${holds} to another plan first (plans.assign).`,
        );
      }
      const entry = auditEntry(actor, {
        action: 'plan.delete',
        target: planId,
        before: auditedPlan(plan),
        after: null,
      });
      return {
        change: {
          writes: [{ kind: 'removePlan', planId, expect: plan.revision }],
          accounts: [],
          entries: [entry],
        },
        answer: () => undefined,
      };
    });
  }

  /** A plan that the actor may use in this way. */
  async load(actor: Actor, operation: Operation, planId: string): Promise<PlanRecord> {
    requireOn(actor, operation, planId, 'plan', planId);
    const found = await this.#context.storage.records.findPlan(planId);
    if (found === null) throw notFound('plan', planId);
    return found;
  }

  async #requireFree(name: string, own: string | null): Promise<void> {
    const found = await this.#context.storage.records.findPlanByName(name);
    if (found !== null && found.id !== own) {
      throw new AppError('CONFLICT', `A plan with the name ${repeatable(name)} exists already.`);
    }
  }

  async #patched(draft: Draft, actor: Actor, before: PlanRecord, patch: PlanPatch): Promise<PlanRecord> {
    if (before.metered && (before.remaining !== null || patch.refill)) {
      throw meteredHasNoBalance();
    }
    if (patch.refill && before.remaining === null) throw refillNeedsCredits();
    requireThreshold(patch.alerts, before.remaining);
    return {
      ...before,
      ...(await this.#grants(draft, actor, patch)),
      ...plainOf(PLAN_PLAIN, patch),
      ...(patch.maxKeys === undefined ? {} : { maxKeys: patch.maxKeys }),
      alerts: patchedAlerts(before.alerts, patch.alerts),
      refills: this.#refills(before.refills, patch),
      limits: limitsOf(before.limits, patch),
    };
  }

  /** A new rule is added to those that were in force: a refill that was missed before follows the old one. */
  #refills(before: readonly RefillVersion[], { refill }: PlanPatch): readonly RefillVersion[] {
    const last = before.at(-1);
    const { defaultTimezone, storage } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const rule = refill == null ? null : toRefillRule(refill, defaultTimezone, nowMs);
    const isKept =
      last !== undefined && (refill === undefined || (rule === null ? last.rule === null : isRuleOf(last, rule)));
    // A rule that was set by a clock that ran ahead was never in force.
    const past = before.filter(({ fromMs }) => fromMs < nowMs);
    return isKept ? before : [...past, { fromMs: past.length === 0 ? 0 : nowMs, rule }].slice(-MAX_PLAN_VERSIONS);
  }

  async #grants(
    draft: Draft,
    actor: Actor,
    { roles, permissions }: PlanPatch,
  ): Promise<Partial<Pick<PlanRecord, 'roleIds' | 'permissionIds'>>> {
    // What a plan gives, it gives to keys.
    if (roles != null && roles.length > 0) requireEverywhere(actor, 'rbac.add_role_to_key');
    if (permissions != null && permissions.length > 0) requireEverywhere(actor, 'rbac.add_permission_to_key');
    const resolved = {
      roleIds: roles === undefined ? null : await this.#references.roles(actor, roles ?? []),
      permissionIds: permissions === undefined ? null : await this.#references.permissions(actor, permissions ?? []),
    };
    for (const each of Object.values(resolved)) {
      draft.writes.push(...(each?.writes ?? []));
      draft.entries.push(...(each?.entries ?? []));
    }
    const ids = Object.entries(resolved).flatMap(([name, each]) =>
      each === null ? [] : [[name, each.records.map(({ id }) => id)]],
    );
    return Object.fromEntries(ids) as Partial<Pick<PlanRecord, 'roleIds' | 'permissionIds'>>;
  }
}

function isRuleOf({ rule: before }: RefillVersion, rule: NonNullable<RefillVersion['rule']>): boolean {
  return before !== null && isSameRule(before, rule);
}

/** A plan keeps its kind of counter. Another kind would change the counters of all its holders in one transaction. */
function requireSameKind(before: PlanRecord, { remaining, metered }: PlanPatch): void {
  const isSameCounter = remaining === undefined || (remaining === null) === (before.remaining === null);
  if (isSameCounter && (metered === undefined || metered === before.metered)) return;
  const what = before.metered ? 'as metered' : before.remaining === null ? 'without credits' : 'with credits';
  const way = 'Create another plan, and move its customers and keys there (plans.assign).';
  throw new AppError(
    'BAD_REQUEST',
    `The plan ${repeatable(before.name)} was created ${what}, which cannot change. ${way}`,
  );
}

function limitsOf(before: readonly PlanLimit[], patch: PlanPatch): readonly PlanLimit[] {
  const limits = wantedLimits(
    before.map((limit) => ({ ...limit, account: null })),
    patch,
  );
  return limits.map(({ account: _account, ...limit }) => limit);
}

/** A plan as the audit log shows it, with the rule that is in force. */
function auditedPlan(plan: PlanRecord): Record<string, unknown> {
  const refill = plan.refills.at(-1)?.rule ?? null;
  const limits = plan.limits.map((limit) => ({ ...limit, account: null }));
  return {
    name: plan.name,
    ...auditPlain(PLAN_PLAIN, plan),
    remaining: plan.remaining,
    ...(plan.metered ? { metered: true } : {}),
    ...auditedCounters({ credits: { account: 0, refill }, limits }),
    roles: plan.roleIds,
    permissions: plan.permissionIds,
    maxKeys: plan.maxKeys,
    alerts: plan.alerts,
  };
}

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
  readonly #moves: DueCredits['moves'];
  readonly #keys: KeyReader;

  constructor(context: AdminContext, plans: PlanAdmin, { moves }: DueCredits) {
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
