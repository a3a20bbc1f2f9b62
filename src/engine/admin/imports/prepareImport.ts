import { AppError, notFound } from '../../../core/errors.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import { shownStart } from '../../../core/secret.ts';
import type { System } from '../../system.ts';
import type { Actor } from '../change/actor.ts';
import type { KeyPatch } from '../keys/keyInput.ts';
import type { KeyProblem } from '../keys/keyProblems.ts';
import type { Draft } from '../change/draft.ts';
import { CreateKey } from '../keys/createKey.ts';
import type { KeySecret } from '../keys/newSecret.ts';
import type { AdminContext } from '../change/adminContext.ts';
import type { QuotaLeft } from '../change/quotas.ts';

/** A key that was made elsewhere, with its secret or the secret's SHA-256 in base64. */
export interface ImportedKey {
  readonly apiId: string;
  readonly patch: KeyPatch;
  readonly secret: { readonly plaintext: string } | { readonly sha256: string };
  /** What the secret begins with; null = not given. */
  readonly prefix: string | null;
  /** What lists show of the secret; null = taken from its secret and prefix. */
  readonly start: string | null;
}

/** The same key with a digest instead of its secret, so that it can wait on disk. */
export interface WaitingKey {
  readonly apiId: string;
  readonly patch: KeyPatch;
  readonly secret: KeySecret;
  /** Digests under older peppers, under which the key may exist already. */
  readonly olderDigests: readonly string[];
}

/** Characters of a secret that `start` never shows. */
const MIN_HIDDEN = 12;

export function toWaitingKey(system: System, { apiId, patch, secret, prefix, start }: ImportedKey): WaitingKey {
  const isPlain = 'plaintext' in secret;
  return {
    apiId,
    patch,
    secret: {
      digest: isPlain ? system.digestSecret(secret.plaintext) : system.digestOfSha256(secret.sha256),
      start: start ?? startOf(prefix, isPlain ? secret.plaintext : null),
      byteLength: null,
    },
    olderDigests: isPlain ? system.olderDigests(secret.plaintext) : system.olderDigestsOfSha256(secret.sha256),
  };
}

/** The same start as of a key that is made here. A short secret shows only its prefix. */
function startOf(prefix: string | null, plaintext: string | null): string {
  const isPrefixed = prefix !== null && (plaintext === null || plaintext.startsWith(`${prefix}_`));
  const shown = plaintext === null ? '' : shownStart(isPrefixed ? prefix : null, plaintext);
  if (plaintext !== null && plaintext.length - shown.length >= MIN_HIDDEN) return shown;
  return isPrefixed ? `${prefix}_` : '';
}

/** Prepares the records of imported keys. */
export class PrepareImport {
  readonly #context: AdminContext;
  readonly #createKey: CreateKey;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#createKey = new CreateKey(context);
  }

  /** Adds every key that can be created to the draft, and answers the problems of the others. */
  async draftKeys(
    draft: Draft,
    actor: Actor,
    { keys, quotaLeft }: { keys: readonly WaitingKey[]; quotaLeft: QuotaLeft | null },
  ): Promise<{ keyIds: string[]; problems: KeyProblem[] }> {
    const apis = await this.#findApis(keys);
    const doubled = await this.#findDoubled(keys);
    const known = await this.#createKey.readNamed(keys.map(({ patch }) => patch));
    const keyIds: string[] = [];
    const problems: KeyProblem[] = [];
    await this.#context.turns.each(actor.id, keys, async ({ apiId, patch, secret }, index) => {
      const before = lengthsOf(draft);
      try {
        const api = apis.get(apiId);
        if (api === undefined) throw notFound('api', apiId);
        const conflict = doubled.get(index);
        if (conflict !== undefined) throw new AppError('CONFLICT', conflict);
        if (quotaLeft !== null && keyIds.length >= quotaLeft.count) throw quotaLeft.refusal();
        const input = { ...patch, secret, known, orFail: 'PRECONDITION_FAILED' as const };
        keyIds.push((await this.#createKey.draftKey(draft, actor, api, input)).id);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        takeBack(draft, before);
        problems.push({ index, error });
      }
    });
    return { keyIds, problems };
  }

  async #findApis(keys: readonly WaitingKey[]): Promise<Map<string, ApiRecord>> {
    const found = new Map<string, ApiRecord>();
    for (const apiId of new Set(keys.map((key) => key.apiId))) {
      const api = await this.#context.storage.records.findApi(apiId);
      if (api !== null) found.set(apiId, api);
    }
    return found;
  }

  /** By index: the conflict of each key that exists already or appears earlier in the list. */
  async #findDoubled(keys: readonly WaitingKey[]): Promise<Map<number, string>> {
    const digests = keys.flatMap(({ secret, olderDigests }) => [secret.digest, ...olderDigests]);
    const taken = new Set(await this.#context.storage.records.findTakenDigests(digests));
    const doubled = new Map<number, string>();
    const seen = new Set<string>();
    for (const [index, { secret, olderDigests }] of keys.entries()) {
      const isTaken = [secret.digest, ...olderDigests].some((digest) => taken.has(digest));
      if (isTaken) doubled.set(index, 'This key exists already.');
      else if (seen.has(secret.digest)) doubled.set(index, 'This key appears earlier in the list.');
      seen.add(secret.digest);
    }
    return doubled;
  }
}

type Lengths = Readonly<Record<keyof Draft, number>>;

function lengthsOf({ writes, accounts, entries }: Draft): Lengths {
  return { writes: writes.length, accounts: accounts.length, entries: entries.length };
}

/** Removes from the draft what a key added before it turned out that it cannot be created. */
function takeBack(draft: Draft, { writes, accounts, entries }: Lengths): void {
  draft.writes.length = writes;
  draft.accounts.length = accounts;
  draft.entries.length = entries;
}
