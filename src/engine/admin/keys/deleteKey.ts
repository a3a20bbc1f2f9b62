import { MAX_LIVE_SECRETS } from '../../../core/bounds.ts';
import { AppError, notFound } from '../../../core/errors.ts';
import type { KeyRecord } from '../../../core/records.ts';
import { searchWords } from '../../../core/search.ts';
import { makeSecret, PREFIX_PATTERN, shownStart } from '../../../core/secret.ts';
import type { FormerSecret, KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';
import { auditEvent } from '../audit/auditEvent.ts';
import { closeAccounts, retireAccounts, reviveAccounts, touchAccounts } from '../change/counters.ts';
import { auditedKey } from './auditedKey.ts';
import { type Draft, emptyDraft } from './createKey.ts';
import { KeyReader, readable } from './keyReader.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Random bytes of a rotated secret when neither the key nor its api says how many. */
const SECRET_BYTES = 16;

type Found = KeyWithIdentity | PoisonedKey;

/** Deletes, restores and rotates keys. */
export class DeleteAndRotate {
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
      draft.events.push(
        auditEvent(actor, { action: 'key.delete', target: keyId, before: facts, after: { permanent }, isWhole: true }),
      );
      return { change: draft, answer: () => undefined };
    });
  }

  /** Restores a softly deleted key as it was. Boundaries that passed meanwhile refill it. */
  async restore(actor: Actor, keyId: string): Promise<void> {
    const { changes, storage, refills, quotas } = this.#context;
    await quotas.creating('keys', 1, () =>
      changes.apply(async () => {
        const { key: before, identity } = readable(await this.#reader.findAny(actor, 'api.update_key', keyId));
        const api = await storage.records.findApi(before.apiId);
        // A key that a deletion of all keys removes for good counts as gone, although its row may still exist.
        if (api === null || before.generation < api.purgesBelow) throw notFound('key', keyId);
        if (before.deletedAtMs === null && before.generation === api.generation) {
          throw new AppError('PRECONDITION_FAILED', `The key ${keyId} is not deleted.`);
        }
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
        return {
          change: {
            writes: [{ kind: 'updateKey', key, expect: before.revision, formerDigests }],
            accounts: reviveAccounts(before, revision, refills, nowMs),
            events: [
              auditEvent(actor, {
                action: 'key.restore',
                target: keyId,
                before: null,
                after: auditedKey(key, identity),
              }),
            ],
          },
          answer: () => undefined,
        };
      }),
    );
  }

  /** Gives the key another secret. The old secret stays valid for `overlapMs`; 0 ends all former secrets at once. */
  async rotate(actor: Actor, keyId: string, overlapMs: number): Promise<string> {
    const { changes, storage, system } = this.#context;
    return changes.apply(async () => {
      await this.#reader.find(actor, 'api.create_key', keyId);
      const { key: before } = await this.#reader.load(actor, 'api.update_key', keyId);
      const nowMs = storage.ledger.nowMs();
      const former = await storage.records.listFormerSecrets([keyId]);
      if (overlapMs > 0) refuseTooManySecrets(former, keyId, nowMs);
      const api = await storage.records.findApi(before.apiId);
      const prefix = prefixOf(before.start) ?? api?.defaultPrefix ?? null;
      const byteLength = before.byteLength ?? api?.defaultByteLength ?? SECRET_BYTES;
      const secret = makeSecret(prefix, system.randomBytes(byteLength));
      const revision = before.revision + 1;
      const key: KeyRecord = {
        ...before,
        secretDigest: system.digestSecret(secret),
        start: shownStart(prefix, secret),
        byteLength,
        updatedAtMs: nowMs,
        revision,
      };
      const formerDigests = [before.secretDigest, ...former.map(({ digest }) => digest)];
      const draft = emptyDraft();
      draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
      draft.accounts.push(...touchAccounts(before, revision));
      const secretUntilNow = { digest: before.secretDigest, owner: keyId, untilMs: nowMs + overlapMs };
      draft.writes.push(
        overlapMs > 0 ? { kind: 'insertSecret', secret: secretUntilNow } : { kind: 'endSecrets', owner: keyId },
      );
      const after = { start: key.start, overlapMs };
      draft.events.push(
        auditEvent(actor, { action: 'key.rotate', target: keyId, before: { start: before.start }, after }),
      );
      return { change: draft, answer: () => secret };
    });
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

/** The prefix in `start`, before the shown characters of the random part. An imported key may begin with anything: then null. */
function prefixOf(start: string): string | null {
  const prefix = start.slice(0, Math.max(0, start.lastIndexOf('_')));
  return new RegExp(PREFIX_PATTERN).test(prefix) ? prefix : null;
}

/** Refuses one more former secret when the key has as many valid ones as allowed. */
function refuseTooManySecrets(former: readonly FormerSecret[], keyId: string, nowMs: number): void {
  if (former.filter(({ untilMs }) => untilMs > nowMs).length < MAX_LIVE_SECRETS) return;
  throw new AppError(
    'PRECONDITION_FAILED',
    `The key ${keyId} has ${MAX_LIVE_SECRETS} former secrets that are still valid; wait until one expires, or use overlapMs 0.`,
  );
}
