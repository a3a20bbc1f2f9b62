import { AppError, repeatable } from '../../../core/errors.ts';
import type { IdentityRecord, KeyRecord } from '../../../core/records.ts';
import { identityWords } from '../../../core/search.ts';
import { auditEvent } from '../audit/auditEvent.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { closeAccounts, retireAccounts, touchAccounts } from '../change/counters.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import { auditedKey } from '../keys/auditedKey.ts';
import { type Draft, emptyDraft } from '../change/draft.ts';
import { readable } from '../keys/keyReader.ts';
import { auditedIdentity } from './auditedIdentity.ts';
import { type IdentityReference, loadIdentity } from './loadIdentity.ts';

/** What becomes of the keys of an identity that is deleted. */
export type KeysOfDeleted = 'disable' | 'delete' | 'detach';

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
    const { records } = this.#context.storage;
    const { id } = await loadIdentity(records, actor, 'identity.delete_identity', reference);
    if (keys !== null) for (const right of RIGHTS_ON_KEYS) requireEverywhere(actor, right);
    for (let round = keys === null ? MAX_ROUNDS : 1; ; round++) {
      if (keys !== null) await this.#releaseKeys(actor, id, keys);
      if (await this.#remove(actor, id, round === MAX_ROUNDS)) return;
    }
  }

  async #releaseKeys(actor: Actor, id: string, keys: KeysOfDeleted): Promise<void> {
    const { changes, storage } = this.#context;
    if ((await storage.records.listKeysOfIdentity(id, { limit: 1, after: null })).length === 0) return;
    if (keys !== 'detach') await this.#disable(actor, id);
    for (;;) {
      const count = await changes.apply(async () => {
        const found = await storage.records.listKeysOfIdentity(id, { limit: STEP, after: null });
        const draft = emptyDraft();
        for (const each of found) {
          const { key, identity } = readable(each);
          await this.#draftRelease(draft, actor, { key, identity, keys });
        }
        return { change: draft, answer: () => found.length };
      });
      if (count === 0) return;
    }
  }

  async #disable(actor: Actor, id: string): Promise<void> {
    const { changes, storage } = this.#context;
    await changes.apply(async () => {
      const before = await loadIdentity(storage.records, actor, 'identity.delete_identity', { id });
      if (!before.enabled) return { change: emptyDraft(), answer: () => undefined };
      const revision = before.revision + 1;
      const identity: IdentityRecord = { ...before, enabled: false, revision, updatedAtMs: storage.ledger.nowMs() };
      const facts = { before: auditedIdentity(before), after: auditedIdentity(identity) };
      return {
        change: {
          writes: [{ kind: 'updateIdentity', identity, expect: before.revision }],
          accounts: touchAccounts(before, revision),
          events: [auditEvent(actor, { action: 'identity.update', target: id, ...facts })],
        },
        answer: () => undefined,
      };
    });
  }

  async #draftRelease(
    draft: Draft,
    actor: Actor,
    { key: before, identity, keys }: { key: KeyRecord; identity: IdentityRecord | null; keys: KeysOfDeleted },
  ): Promise<void> {
    const { records, ledger } = this.#context.storage;
    const nowMs = ledger.nowMs();
    const changed = { updatedAtMs: nowMs, revision: before.revision + 1 };
    const key: KeyRecord =
      keys === 'delete'
        ? { ...before, ...changed, deletedAtMs: nowMs }
        : { ...before, ...changed, identityId: null, enabled: keys === 'disable' ? false : before.enabled };
    const former = await records.listFormerSecrets([key.id]);
    const formerDigests = former.map(({ digest }) => digest);
    draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
    const counters = keys === 'delete' ? retireAccounts : touchAccounts;
    draft.accounts.push(...counters(before, key.revision));
    const facts = auditedKey(before, identity);
    draft.events.push(
      keys === 'delete'
        ? auditEvent(actor, {
            action: 'key.delete',
            target: key.id,
            before: facts,
            after: { permanent: false },
            isWhole: true,
          })
        : auditEvent(actor, { action: 'key.update', target: key.id, before: facts, after: auditedKey(key, null) }),
    );
  }

  /** False: keys have joined the identity meanwhile. */
  async #remove(actor: Actor, id: string, isLastRound: boolean): Promise<boolean> {
    const { changes, storage } = this.#context;
    return changes.apply(async () => {
      const before = await loadIdentity(storage.records, actor, 'identity.delete_identity', { id });
      const [count = 0] = await storage.records.countKeysOfIdentities([id]);
      if (count > 0 && isLastRound) throw hasKeys(before, count);
      if (count > 0) return { change: emptyDraft(), answer: () => false };
      const facts = { before: auditedIdentity(before), after: null };
      return {
        change: {
          writes: [{ kind: 'removeIdentity', identityId: id, expect: before.revision, words: identityWords(before) }],
          accounts: closeAccounts(before),
          events: [auditEvent(actor, { action: 'identity.delete', target: id, ...facts })],
        },
        answer: () => true,
      };
    });
  }
}

function hasKeys({ externalId }: IdentityRecord, count: number): AppError {
  return new AppError(
    'CONFLICT',
    `The identity ${repeatable(externalId)} has ${count} ${count === 1 ? 'key' : 'keys'}. Say what becomes of them: keys "disable", "delete" or "detach".`,
  );
}
