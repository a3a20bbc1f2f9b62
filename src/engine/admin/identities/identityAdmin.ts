import { type AlertsPatch, alertsWithoutCredits, patchedAlerts, requireThreshold } from '../../../core/alerts.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { heldCredits } from '../../../core/plan.ts';
import { BLANK_IDENTITY } from '../../../model/identities.ts';
import { IDENTITY_PLAIN, type IdentityRecord } from '../../../model/identities.ts';
import { plainOf } from '../../../model/plain.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import { identityWords } from '../../../core/search.ts';
import type { IdentityQuery } from '../../../storage/port/records.ts';
import type { WordChange } from '../../../storage/port/writes.ts';
import { readCredits } from '../change/readCredits.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { emptyDraft } from '../change/draft.ts';
import { requireBalance } from '../change/requireBalance.ts';
import { creditsIndex, type CounterContext, newAccountsNeeded, patchCounters } from '../change/counters.ts';
import type { CounterPatch } from '../../../core/counterPatch.ts';
import { type CreditsView, viewCredits } from '../keys/keyView.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { auditedIdentity } from './auditedIdentity.ts';
import { type IdentityReference, loadIdentity } from './loadIdentity.ts';
import { NewIdentities } from '../keys/newIdentities.ts';
import { planOf, plansOf, readMoved } from '../../planOf.ts';
import { readPlanLimits, readUsedLimits, type UsedLimit } from '../limits/usedLimits.ts';

export interface IdentityPatch extends CounterPatch, Partial<Pick<IdentityRecord, keyof typeof IDENTITY_PLAIN>> {
  readonly maxKeys?: number | null;
  readonly alerts?: AlertsPatch | null;
}

/** An identity as a reader sees it: the record and its balance. */
export interface IdentityView extends CreditsView {
  readonly identity: IdentityRecord;
  readonly plan: PlanRecord | null;
}

/** With the number of its keys, and what was used of each of its limits and of those of its plan, in their order. */
export interface IdentityDetails extends IdentityView {
  readonly keys: number;
  readonly used: readonly UsedLimit[];
  readonly planUsed: readonly UsedLimit[];
}

export class IdentityAdmin {
  readonly #context: AdminContext;
  readonly #newIdentities: NewIdentities;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#newIdentities = new NewIdentities(context);
  }

  async create(actor: Actor, externalId: string, patch: IdentityPatch): Promise<string> {
    const { storage, system, changes } = this.#context;
    requireEverywhere(actor, 'identity.create_identity');
    return changes.apply(async () => {
      if ((await storage.records.findIdentity(externalId)) !== null) {
        throw new AppError('CONFLICT', `An identity with the externalId ${repeatable(externalId)} exists already.`);
      }
      const plan = await this.#newIdentities.defaultPlan();
      const context = { ...(await this.#counterContext(patch)), plan };
      const draft = emptyDraft();
      const id = makeId('id', context.nowMs, system.randomBytes(ID_RANDOM_BYTES));
      const blank: IdentityRecord = { ...BLANK_IDENTITY, id, externalId, createdAtMs: context.nowMs };
      requireThreshold(patch.alerts, patch.remaining ?? null);
      const { counters, accounts } = patchCounters(blank, patch, context);
      draft.accounts.push(...accounts);
      const identity = await this.#newIdentities.onPlan(draft, { ...patched(blank, patch), ...counters }, plan);
      const facts = identity.planId === null ? {} : { planId: identity.planId };
      const after = withRemaining({ ...auditedIdentity(identity), ...facts }, patch);
      const entry = auditEntry(actor, {
        action: 'identity.create',
        target: id,
        before: null,
        after,
        ids: { externalId },
      });
      draft.writes.push({ kind: 'insertIdentity', identity, words: identityWords(identity) });
      draft.entries.push(entry);
      return { change: draft, answer: () => id };
    });
  }

  async get(actor: Actor, reference: IdentityReference): Promise<IdentityDetails> {
    const { storage } = this.#context;
    const identity = await loadIdentity(this.#context, actor, 'identity.read_identity', reference);
    const [view, [keys = 0]] = await Promise.all([
      this.#view(identity),
      storage.records.countKeysOfIdentities([identity.id]),
    ]);
    const [used, planUsed] = await Promise.all([
      readUsedLimits(storage, identity.id, identity.limits),
      readPlanLimits(storage, identity.id, view.plan),
    ]);
    return { ...view, used, planUsed, keys };
  }

  async list(
    actor: Actor,
    query: IdentityQuery,
  ): Promise<{ identities: IdentityView[]; total: number; cursor: string | null }> {
    requireEverywhere(actor, 'identity.read_identity');
    const list = () => this.#context.storage.records.listIdentities(query);
    const page = await readMoved(this.#context, list, ({ items }) => items);
    return { identities: await this.#views(page.items), total: page.total, cursor: page.cursor };
  }

  async update(actor: Actor, reference: IdentityReference, patch: IdentityPatch): Promise<IdentityView> {
    const identity = await this.#context.changes.apply(async () => {
      const { records } = this.#context.storage;
      const before = await loadIdentity(this.#context, actor, 'identity.update_identity', reference);
      // An empty patch changes nothing and writes no audit entry.
      if (Object.keys(patch).length === 0) return { change: { writes: [], accounts: [] }, answer: () => before };
      const plan = await planOf(records, before);
      const context = { ...(await this.#counterContext(patch)), plan, planMove: before.planMove };
      const { counters, accounts } = patchCounters(before, patch, context);
      await requireBalance(this.#context, patch, {
        id: before.id,
        before: heldCredits(before.credits, plan),
        after: heldCredits(counters.credits, plan),
      });
      const after: IdentityRecord = { ...patched(before, patch), ...counters, updatedAtMs: context.nowMs };
      const entry = auditEntry(actor, {
        action: 'identity.update',
        target: before.id,
        before: auditedIdentity(before),
        after: auditedIdentity(after),
        ids: { externalId: before.externalId },
        counter: patch.remaining === undefined ? -1 : creditsIndex(accounts, before, after),
      });
      return {
        change: {
          writes: [
            { kind: 'updateIdentity', identity: after, expect: before.revision, words: wordChange(before, after) },
          ],
          accounts,
          entries: [entry],
        },
        answer: () => after,
      };
    });
    return this.#view(identity);
  }

  async #view(identity: IdentityRecord): Promise<IdentityView> {
    return (await this.#views([identity]))[0] as IdentityView;
  }

  async #views(identities: readonly IdentityRecord[]): Promise<IdentityView[]> {
    const { storage, refills } = this.#context;
    const states = await readCredits(this.#context, identities);
    const plans = await plansOf(storage.records, identities);
    const nowMs = storage.ledger.nowMs();
    return identities.map((identity, i) => {
      const plan = plans.get(identity.planId ?? '') ?? null;
      return { identity, plan, ...viewCredits(heldCredits(identity.credits, plan), states[i], refills, nowMs) };
    });
  }

  async #counterContext(patch: CounterPatch): Promise<CounterContext> {
    const { storage, refills, defaultTimezone } = this.#context;
    const freeAccounts = [...(await storage.ledger.reserveAccounts(newAccountsNeeded(patch)))];
    return { refills, nowMs: storage.ledger.nowMs(), defaultTimezone, freeAccounts };
  }
}

function patched(before: IdentityRecord, patch: IdentityPatch): IdentityRecord {
  return {
    ...before,
    ...plainOf(IDENTITY_PLAIN, patch),
    maxKeys: patch.maxKeys === undefined ? before.maxKeys : patch.maxKeys,
    alerts: patchedAlerts(patch.remaining === null ? alertsWithoutCredits(before.alerts) : before.alerts, patch.alerts),
  };
}

function wordChange(before: IdentityRecord, after: IdentityRecord): WordChange {
  const [old, now] = [identityWords(before), identityWords(after)];
  return { removed: old.filter((word) => !now.includes(word)), added: now.filter((word) => !old.includes(word)) };
}

function withRemaining(facts: Record<string, unknown>, { remaining }: CounterPatch): Record<string, unknown> {
  return remaining === undefined ? facts : { ...facts, remaining };
}
