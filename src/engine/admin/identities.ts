import { type AlertsPatch, alertsWithoutCredits, patchedAlerts, requireThreshold } from '../../core/alerts.ts';
import type { CounterPatch } from '../../core/counterPatch.ts';
import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { heldCredits } from '../../core/plan.ts';
import type { Operation } from '../../core/rights.ts';
import { identityWords } from '../../core/search.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireEverywhere, requireOn } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import {
  closeAccounts,
  type CounterContext,
  creditsIndex,
  newAccountsNeeded,
  patchCounters,
  readCredits,
  requireBalance,
  retireAccounts,
  touchAccounts,
} from './change/counters.ts';
import { type Draft, emptyDraft } from './change/applyChange.ts';
import { auditedCounters, auditedKey, type CreditsView, idsAround, viewCredits } from './readKeys.ts';
import { NewIdentities } from './createKeys.ts';
import { readPlanLimits, readUsedLimits, type UsedLimit } from './usedLimits.ts';
import { planOf, plansOf, readMoved } from '../planOf.ts';
import { BLANK_IDENTITY, IDENTITY_PLAIN, type IdentityRecord } from '../../model/identities.ts';
import type { KeyRecord } from '../../model/keys.ts';
import { auditPlain, plainOf } from '../../model/plainFields.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { IdentityQuery, KeyWithIdentity, PoisonedKey } from '../../storage/port/records.ts';
import type { WordChange } from '../../storage/port/writes.ts';

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
        throw new AppError('CONFLICT', `A customer with the externalId ${repeatable(externalId)} exists already.`);
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

/** An identity as the audit log shows it. */
function auditedIdentity(identity: IdentityRecord): Record<string, unknown> {
  const { externalId, maxKeys, alerts } = identity;
  return {
    externalId,
    ...auditPlain(IDENTITY_PLAIN, identity),
    maxKeys,
    alerts,
    ...auditedCounters(identity),
  };
}

export type IdentityReference = { readonly id: string } | { readonly externalId: string };

/** An identity that the actor may use in this way, on the plan that it is to have by now. */
export async function loadIdentity(
  context: Pick<AdminContext, 'storage' | 'dueCredits'>,
  actor: Actor,
  operation: Operation,
  reference: IdentityReference,
): Promise<IdentityRecord> {
  const asked = 'id' in reference ? reference.id : null;
  const what = asked === null ? 'customer with this externalId' : 'customer';
  const { records } = context.storage;
  const read = async (): Promise<IdentityRecord> => {
    const found = await ('id' in reference
      ? records.findIdentityById(reference.id)
      : records.findIdentity(reference.externalId));
    requireOn(actor, operation, found?.id ?? '', what, asked);
    if (found === null) throw notFound(what, asked);
    return found;
  };
  return readMoved(context, read, (identity) => [identity]);
}

/** The keys of an identity can belong to any api. */
const RIGHTS_ON_KEYS = ['api.update_key', 'api.delete_key'] as const;
/** Keys of one transaction. On a shared database it locks their counters until it ends. */
const STEP = 50;
/** How often keys may join the identity while it is being deleted. */
const MAX_ROUNDS = 20;

/**
 * Deletes identities. The keys are changed first, in small transactions, the identity last: a process that stops in between leaves the
 * identity with the rest of its keys, and the same call goes on. Before keys are disabled or deleted, the identity is disabled, so that all
 * of them end at once.
 */
export class DeleteIdentity {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** `keys` null: the identity must not have any. */
  async delete(actor: Actor, reference: IdentityReference, keys: KeysOfDeleted | null): Promise<void> {
    const { id } = await loadIdentity(this.#context, actor, 'identity.delete_identity', reference);
    if (keys !== null) for (const right of RIGHTS_ON_KEYS) requireEverywhere(actor, right);
    for (let round = keys === null ? MAX_ROUNDS : 1; ; round++) {
      if (keys !== null) await this.#releaseKeys(actor, id, keys);
      if (await this.#remove(actor, id, round === MAX_ROUNDS)) return;
    }
  }

  async #releaseKeys(actor: Actor, id: string, keys: KeysOfDeleted): Promise<void> {
    const { storage } = this.#context;
    if ((await storage.records.listKeysOfIdentity(id, { limit: 1, after: null })).length === 0) return;
    if (keys !== 'detach') await this.#disable(actor, id);
    while ((await this.#releaseStep(actor, id, keys)) > 0);
  }

  /** Answers how many keys were released. */
  #releaseStep(actor: Actor, id: string, keys: KeysOfDeleted): Promise<number> {
    const { changes, storage } = this.#context;
    return changes.apply(async () => {
      const identity = await loadIdentity(this.#context, actor, 'identity.delete_identity', { id });
      if (!mayDetach(identity, keys)) throw isDisabled(identity);
      const step = await storage.records.listKeysOfIdentity(id, { limit: STEP, after: null });
      const idOf = (found: (typeof step)[number]) => ('poisoned' in found ? found.poisoned : found.key.id);
      const former = await storage.records.listFormerSecrets(step.map(idOf));
      const draft = emptyDraft();
      for (const found of step) {
        const formerDigests = former.filter(({ owner }) => owner === idOf(found)).map(({ digest }) => digest);
        releaseKey(draft, actor, { found, keys, formerDigests, nowMs: storage.ledger.nowMs() });
      }
      return { change: draft, answer: () => step.length };
    });
  }

  async #disable(actor: Actor, id: string): Promise<void> {
    const { changes, storage } = this.#context;
    await changes.apply(async () => {
      const before = await loadIdentity(this.#context, actor, 'identity.delete_identity', { id });
      if (!before.enabled) return { change: emptyDraft(), answer: () => undefined };
      const revision = before.revision + 1;
      const identity: IdentityRecord = { ...before, enabled: false, revision, updatedAtMs: storage.ledger.nowMs() };
      const { externalId } = before;
      const facts = { before: auditedIdentity(before), after: auditedIdentity(identity), ids: { externalId } };
      return {
        change: {
          writes: [{ kind: 'updateIdentity', identity, expect: before.revision }],
          accounts: touchAccounts(before, revision),
          entries: [auditEntry(actor, { action: 'identity.update', target: id, ...facts })],
        },
        answer: () => undefined,
      };
    });
  }

  /** False: keys have joined the identity meanwhile. */
  async #remove(actor: Actor, id: string, isLastRound: boolean): Promise<boolean> {
    const { changes, storage } = this.#context;
    return changes.apply(async () => {
      const before = await loadIdentity(this.#context, actor, 'identity.delete_identity', { id });
      const [count = 0] = await storage.records.countKeysOfIdentities([id]);
      if (count > 0 && isLastRound) throw hasKeys(before, count);
      if (count > 0) return { change: emptyDraft(), answer: () => false };
      const facts = { before: auditedIdentity(before), after: null, ids: { externalId: before.externalId } };
      return {
        change: {
          writes: [{ kind: 'removeIdentity', identityId: id, expect: before.revision, words: identityWords(before) }],
          accounts: closeAccounts(before),
          entries: [auditEntry(actor, { action: 'identity.delete', target: id, ...facts })],
        },
        answer: () => true,
      };
    });
  }
}

function isDisabled({ externalId }: IdentityRecord): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `The customer ${repeatable(externalId)} is disabled: detached from it, its keys would be valid again. Enable it first, or set "keys" to "disable" or "delete".`,
  );
}

function hasKeys({ externalId }: IdentityRecord, count: number): AppError {
  return new AppError(
    'CONFLICT',
    `The customer ${repeatable(externalId)} has ${count === 1 ? '1 key. Say what becomes of it' : `${count} keys. Say what becomes of them`}: set "keys" to "disable", "delete" or "detach".`,
  );
}

/** What becomes of the keys of an identity that is deleted. */
type KeysOfDeleted = 'disable' | 'delete' | 'detach';

interface ReleaseInput {
  readonly found: KeyWithIdentity | PoisonedKey;
  readonly keys: KeysOfDeleted;
  readonly formerDigests: readonly string[];
  readonly nowMs: number;
}

/** Adds the release of a key from its identity to a draft. A key that cannot be read is deleted: it is of no use to anybody. */
function releaseKey(draft: Draft, actor: Actor, { found, keys, formerDigests, nowMs }: ReleaseInput): void {
  if ('poisoned' in found) {
    const digests = [found.secretDigest, ...formerDigests];
    const key = { id: found.poisoned, expect: found.revision, digests, words: [] };
    draft.writes.push({ kind: 'retireKeys', keys: [key], deletedAtMs: nowMs });
    draft.entries.push(deletion(actor, found.poisoned, { before: {}, ids: { apiId: found.apiId } }));
    return;
  }
  const { key: before, identity } = found;
  const key = released(before, keys, nowMs);
  draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
  draft.accounts.push(...(keys === 'delete' ? retireAccounts : touchAccounts)(before, key.revision));
  const facts = { before: auditedKey(before, identity), ids: idsAround(before, identity) };
  draft.entries.push(
    keys === 'delete'
      ? deletion(actor, key.id, facts)
      : auditEntry(actor, { action: 'key.update', target: key.id, ...facts, after: auditedKey(key, null) }),
  );
}

function released(before: KeyRecord, keys: KeysOfDeleted, nowMs: number): KeyRecord {
  const changed = { ...before, updatedAtMs: nowMs, revision: before.revision + 1 };
  if (keys === 'delete') return { ...changed, deletedAtMs: nowMs };
  return { ...changed, identityId: null, enabled: keys === 'disable' ? false : before.enabled };
}

function deletion(
  actor: Actor,
  target: string,
  facts: { before: Record<string, unknown>; ids: Record<string, string> },
) {
  return auditEntry(actor, { action: 'key.delete', target, ...facts, after: { permanent: false }, isWhole: true });
}

/** Detached from a disabled identity, keys would be valid again. */
function mayDetach({ enabled }: IdentityRecord, keys: KeysOfDeleted): boolean {
  return enabled || keys !== 'detach';
}
