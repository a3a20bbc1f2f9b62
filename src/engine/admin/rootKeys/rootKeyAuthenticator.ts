import { AppError } from '../../../core/errors.ts';
import type { RootKeyRecord } from '../../../model/access.ts';
import type { Freshness } from '../../../storage/port/freshness.ts';
import type { Records } from '../../../storage/port/records.ts';

/** Root keys kept in memory. There are few of them. The bound keeps the memory small whatever callers send. */
const MAX_CACHED = 1000;

/** A root key, found by one of its secrets. */
export interface Caller {
  readonly rootKey: RootKeyRecord;
  /** When a former secret ends; null = it is the present secret. */
  readonly secretUntilMs: number | null;
  /** When the root key expires or its former secret ends, whichever is first; null = never. */
  readonly untilMs: number | null;
}

/** Authenticates root keys. */
export class RootKeyAuthenticator {
  readonly #records: Records;
  readonly #freshness: Freshness;
  readonly #known = new Map<string, Caller>();
  #changes = 0;

  constructor(records: Records, freshness: Freshness) {
    this.#records = records;
    this.#freshness = freshness;
  }

  /**
   * The root key of a secret, if it is valid now. Otherwise the error says what is wrong. The secret of an API key is an unknown
   * root key: the answer does not reveal that the API key exists.
   */
  async authenticate(digests: readonly string[], nowMs: number): Promise<Caller> {
    if (digests.length === 0) {
      throw new AppError('UNAUTHORIZED', 'The root key is missing: send it as "Authorization: Bearer root_...".');
    }
    if (!this.#freshness.isFresh()) await this.#freshness.confirm();
    const caller = await this.#findAny(digests, nowMs);
    if (caller === null) throw new AppError('UNAUTHORIZED', 'This root key is unknown.');
    const { rootKey } = caller;
    if (rootKey.revokedAtMs !== null) throw new AppError('UNAUTHORIZED', 'This root key was revoked.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs) {
      throw new AppError('UNAUTHORIZED', 'This root key has expired.');
    }
    return caller;
  }

  /** Forgets all root keys: one was revoked, rotated or created. */
  forget(): void {
    this.#known.clear();
    this.#changes++;
  }

  async #findAny(digests: readonly string[], nowMs: number): Promise<Caller | null> {
    for (const digest of digests) {
      const known = this.#known.get(digest);
      if (known !== undefined && (known.secretUntilMs === null || nowMs < known.secretUntilMs)) return known;
      const found = await this.#find(digest, nowMs);
      if (found !== null) return found;
    }
    return null;
  }

  /** A root key that was read while root keys changed may be outdated. It is used once, but not kept. */
  async #find(digest: string, nowMs: number): Promise<Caller | null> {
    const changes = this.#changes;
    const found = await this.#records.findRootKeyByDigest(digest, nowMs);
    if (found === null) return null;
    const caller = { ...found, untilMs: earlier(found.rootKey.expiresAtMs, found.secretUntilMs) };
    if (changes === this.#changes) {
      if (this.#known.size >= MAX_CACHED) this.#known.clear();
      this.#known.set(digest, caller);
    }
    return caller;
  }
}

/** The earlier of two instants; null = never. */
function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
