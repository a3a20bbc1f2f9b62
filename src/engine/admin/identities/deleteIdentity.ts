import { AppError, repeatable } from '../../../core/errors.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import { identityWords } from '../../../core/search.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { closeAccounts, touchAccounts } from '../change/counters.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import { emptyDraft } from '../change/draft.ts';
import { auditedIdentity } from './auditedIdentity.ts';
import { type IdentityReference, loadIdentity } from './loadIdentity.ts';
import { type KeysOfDeleted, mayDetach, releaseKey } from './releaseKey.ts';

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
    `The identity ${repeatable(externalId)} is disabled: detached from it, its keys would be valid again. Enable it first, or use keys "disable" or "delete".`,
  );
}

function hasKeys({ externalId }: IdentityRecord, count: number): AppError {
  return new AppError(
    'CONFLICT',
    `The identity ${repeatable(externalId)} has ${count === 1 ? '1 key. Say what becomes of it' : `${count} keys. Say what becomes of them`}: keys "disable", "delete" or "detach".`,
  );
}
