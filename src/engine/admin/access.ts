import { AppError, notFound } from '../../core/errors.ts';
import type { RootKeyRecord } from '../../core/records.ts';
import { ALL_RIGHTS, type ApiAction, holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import type { Feed, Records } from '../../storage/port.ts';

/** Root keys that are kept in memory; there are few, and a flood of wrong ones must not fill it. */
const MAX_CACHED = 1000;

/** Who calls, and what they may do. */
export class Access {
  readonly #records: Records;
  readonly #feed: Feed;
  readonly #known = new Map<string, RootKeyRecord>();
  #changes = 0;

  constructor(records: Records, feed: Feed) {
    this.#records = records;
    this.#feed = feed;
  }

  /** The root key, if it is good now; the message of the error tells what is wrong with it. */
  async authenticate(digests: readonly string[], nowMs: number): Promise<RootKeyRecord> {
    if (digests.length === 0) {
      throw new AppError('UNAUTHORIZED', 'A root key is needed: send it as "Authorization: Bearer root_...".');
    }
    if (!this.#feed.isFresh()) await this.#feed.confirm();
    const rootKey = await this.#findAny(digests);
    if (rootKey === null) throw await this.#unknown(digests);
    if (rootKey.revokedAtMs !== null) throw new AppError('UNAUTHORIZED', 'This root key was revoked.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs) {
      throw new AppError('UNAUTHORIZED', 'This root key has expired.');
    }
    return rootKey;
  }

  /** A root key was revoked or added. */
  forget(): void {
    this.#known.clear();
    this.#changes++;
  }

  async #findAny(digests: readonly string[]): Promise<RootKeyRecord | null> {
    for (const digest of digests) {
      const found = this.#known.get(digest) ?? (await this.#find(digest));
      if (found !== null) return found;
    }
    return null;
  }

  /** What was read while root keys changed is used, but not kept: it may be from before the change. */
  async #find(digest: string): Promise<RootKeyRecord | null> {
    const changes = this.#changes;
    const found = await this.#records.findRootKeyByDigest(digest);
    if (found !== null && changes === this.#changes) {
      if (this.#known.size >= MAX_CACHED) this.#known.clear();
      this.#known.set(digest, found);
    }
    return found;
  }

  async #unknown(digests: readonly string[]): Promise<AppError> {
    const keys = await this.#records.findKeysByDigest(digests);
    const isApiKey = keys.some((key) => key !== null);
    return new AppError('UNAUTHORIZED', isApiKey ? 'This is an API key, not a root key.' : 'This root key is unknown.');
  }
}

/** The right on all apis, present and future: what making a new one needs. */
export function requireEverywhere(rootKey: RootKeyRecord, action: ApiAction): void {
  if (!holdsRight(rootKey.rights, action, ALL_RIGHTS)) throw lacksRight(action, ALL_RIGHTS);
}

/** The right on some api at least: checked before anything is looked up. */
export function requireSomewhere(rootKey: RootKeyRecord, action: ApiAction): void {
  if (!holdsRightSomewhere(rootKey.rights, action)) throw lacksRight(action, ALL_RIGHTS);
}

/** What lies in an api that this root key has no right on looks as if it did not exist. */
export function requireOn(rootKey: RootKeyRecord, action: ApiAction, apiId: string, what: string, id: string): void {
  requireSomewhere(rootKey, action);
  if (!holdsRight(rootKey.rights, action, apiId)) throw notFound(what, id);
}

function lacksRight(action: ApiAction, id: string): AppError {
  return new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right api.${id}.${action}.`);
}
