import type { KeyRecord } from '../../../model/keys.ts';
import { makeSecret, PREFIX_PATTERN, shownStart } from '../../../core/secret.ts';
import { auditEntry } from '../audit.ts';
import type { Actor } from '../change/requireRight.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { refuseTooManySecrets } from '../change/formerSecrets.ts';
import { emptyDraft } from '../change/applyChange.ts';
import { idsAround, KeyReader } from './readKeys.ts';

/** Random bytes of a rotated secret when neither the key nor its api says how many. */
const SECRET_BYTES = 16;

/** Gives keys another secret. */
export class RotateKey {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
  }

  /** Gives the key another secret. The old secret stays valid for `overlapMs`; 0 ends all former secrets at once. */
  async rotate(actor: Actor, keyId: string, overlapMs: number): Promise<string> {
    const { changes, storage, system } = this.#context;
    return changes.apply(async () => {
      await this.#reader.find(actor, 'api.create_key', keyId);
      const { key: before, identity } = await this.#reader.load(actor, 'api.update_key', keyId);
      const nowMs = storage.ledger.nowMs();
      const former = await storage.records.listFormerSecrets([keyId]);
      if (overlapMs > 0) refuseTooManySecrets(former, `key ${keyId}`, nowMs);
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
      const ids = idsAround(key, identity);
      draft.entries.push(
        auditEntry(actor, { action: 'key.rotate', target: keyId, before: { start: before.start }, after, ids }),
      );
      return { change: draft, answer: () => secret };
    });
  }
}

/** The prefix in `start`, before the shown characters of the random part. An imported key may begin with anything: then null. */
function prefixOf(start: string): string | null {
  const prefix = start.slice(0, Math.max(0, start.lastIndexOf('_')));
  return new RegExp(PREFIX_PATTERN).test(prefix) ? prefix : null;
}
