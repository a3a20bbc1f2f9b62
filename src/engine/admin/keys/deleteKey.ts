import { AppError, notFound } from '../../../core/errors.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import { searchWords } from '../../../core/search.ts';
import type { KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import type { Actor } from '../change/requireRight.ts';
import { auditEntry } from '../audit.ts';
import { closeAccounts, retireAccounts, reviveAccounts } from '../change/counters.ts';
import { auditedKey, idsAround, KeyReader, readable } from './readKeys.ts';
import { type Draft, emptyDraft } from '../change/applyChange.ts';
import { joinIdentity } from './newIdentities.ts';
import { plansOf } from '../../planOf.ts';
import type { AdminContext } from '../change/adminContext.ts';

type Found = KeyWithIdentity | PoisonedKey;

/** Deletes and restores keys. */
export class DeleteKey {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
  }

  async delete(actor: Actor, keyId: string, permanent: boolean): Promise<void> {
    await this.#context.changes.apply(async () => {
      // A softly deleted key can still be removed for good.
      const found = permanent
        ? await this.#reader.findAny(actor, 'api.delete_key', keyId)
        : await this.#reader.find(actor, 'api.delete_key', keyId);
      const draft = emptyDraft();
      const facts = 'poisoned' in found ? {} : auditedKey(found.key, found.identity);
      if (permanent) await this.#draftRemoval(draft, found);
      else await this.#draftDeletion(draft, readable(found));
      draft.entries.push(
        auditEntry(actor, {
          action: 'key.delete',
          target: keyId,
          before: facts,
          after: { permanent },
          isWhole: true,
          ids: 'poisoned' in found ? { apiId: found.apiId } : idsAround(found.key, found.identity),
        }),
      );
      return { change: draft, answer: () => undefined };
    });
  }

  /** Restores a softly deleted key as it was. Boundaries that passed meanwhile refill it. */
  async restore(actor: Actor, keyId: string): Promise<void> {
    const { changes, storage, refills, quotas } = this.#context;
    await quotas.creating('keys', 1, (keepQuota) =>
      changes.apply(async () => {
        const { key: before, identity } = readable(await this.#reader.findAny(actor, 'api.update_key', keyId));
        const api = await storage.records.findApi(before.apiId);
        // A key that a deletion of all keys removes for good counts as gone, although its row may still exist.
        if (api === null || before.generation < api.purgesBelow) throw notFound('key', keyId);
        if (before.deletedAtMs === null && before.generation === api.generation) {
          throw new AppError('PRECONDITION_FAILED', `The key ${keyId} is not deleted.`);
        }
        if (before.identityId !== null && identity === null) {
          throw new AppError('PRECONDITION_FAILED', `The customer of the key ${keyId} was deleted. Create a new key.`);
        }
        const draft = emptyDraft();
        const nowMs = storage.ledger.nowMs();
        const revision = before.revision + 1;
        const key: KeyRecord = {
          ...before,
          generation: api.generation,
          deletedAtMs: null,
          updatedAtMs: nowMs,
          revision,
        };
        const formerDigests = await this.#reader.formerDigests(keyId);
        draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
        if (identity !== null) await joinIdentity(storage.records, draft, identity);
        const plan = await this.#joinPlans(draft, before);
        draft.accounts.push(...reviveAccounts(before, revision, { refills, nowMs, plan }));
        const facts = { before: null, after: auditedKey(key, identity), ids: idsAround(key, identity) };
        draft.entries.push(auditEntry(actor, { action: 'key.restore', target: keyId, ...facts }));
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => undefined };
      }),
    );
  }

  /** A deleted key holds no plan: its plan may be gone. Answers the plan that it is on; null = none. */
  async #joinPlans(draft: Draft, { id, planId, planMove }: KeyRecord): Promise<PlanRecord | null> {
    const wanted = [...new Set([planId ?? [], planMove?.planId ?? []].flat())];
    const plans = await plansOf(
      this.#context.storage.records,
      wanted.map((each) => ({ planId: each })),
    );
    for (const each of wanted) {
      const plan = plans.get(each);
      if (plan === undefined) {
        throw new AppError('PRECONDITION_FAILED', `The plan ${each} of the key ${id} was deleted. Create a new key.`);
      }
      draft.writes.push({ kind: 'joinPlan', planId: each, expect: plan.revision });
    }
    return plans.get(planId ?? '') ?? null;
  }

  async #draftDeletion(draft: Draft, { key: before }: KeyWithIdentity): Promise<void> {
    const nowMs = this.#context.storage.ledger.nowMs();
    const revision = before.revision + 1;
    const key: KeyRecord = { ...before, deletedAtMs: nowMs, updatedAtMs: nowMs, revision };
    const formerDigests = await this.#reader.formerDigests(before.id);
    draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
    draft.accounts.push(...retireAccounts(before, revision));
  }

  /** A key that cannot be read can still be removed. Its accounts are unknown and stay in the ledger, where nothing names them. */
  async #draftRemoval(draft: Draft, found: Found): Promise<void> {
    if ('poisoned' in found) {
      const { poisoned: id, apiId, revision: expect, secretDigest } = found;
      const digests = [secretDigest, ...(await this.#reader.formerDigests(id))];
      draft.writes.push({ kind: 'removeKey', key: { id, apiId }, expect, digests });
      return;
    }
    const { key } = found;
    const digests = [key.secretDigest, ...(await this.#reader.formerDigests(key.id))];
    const words = searchWords(key.name, key.meta);
    draft.writes.push({ kind: 'removeKey', key, expect: key.revision, words, digests });
    draft.accounts.push(...closeAccounts(key));
  }
}
