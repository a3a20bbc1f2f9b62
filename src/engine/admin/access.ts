import { AppError, notFound } from '../../core/errors.ts';
import type { RootKeyRecord } from '../../core/records.ts';
import { ALL_RIGHTS, type Deed, holdsRight, holdsRightSomewhere, rightTo } from '../../core/rights.ts';
import type { Feed } from '../../storage/feedPort.ts';
import type { Records } from '../../storage/recordsPort.ts';
import type { Actor } from './actor.ts';

/** Root keys that are kept in memory; there are few, and a flood of wrong ones must not fill it. */
const MAX_CACHED = 1000;

interface Known {
  readonly rootKey: RootKeyRecord;
  /** When the secret ends under which it is known; a replaced one is valid up to that instant. */
  readonly untilMs: number;
}

/** Who calls, and what they may do. */
export class Access {
  readonly #records: Records;
  readonly #feed: Feed;
  readonly #known = new Map<string, Known>();
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
    const rootKey = await this.#findAny(digests, nowMs);
    if (rootKey === null) throw await this.#unknown(digests);
    if (rootKey.revokedAtMs !== null) throw new AppError('UNAUTHORIZED', 'This root key was revoked.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs) {
      throw new AppError('UNAUTHORIZED', 'This root key has expired.');
    }
    return rootKey;
  }

  /** A root key was revoked, rotated or added. */
  forget(): void {
    this.#known.clear();
    this.#changes++;
  }

  async #findAny(digests: readonly string[], nowMs: number): Promise<RootKeyRecord | null> {
    for (const digest of digests) {
      const known = this.#known.get(digest);
      if (known !== undefined && nowMs < known.untilMs) return known.rootKey;
      const found = await this.#find(digest, nowMs);
      if (found !== null) return found;
    }
    return null;
  }

  /** What was read while root keys changed is used, but not kept: it may be from before the change. */
  async #find(digest: string, nowMs: number): Promise<RootKeyRecord | null> {
    const changes = this.#changes;
    const found = await this.#records.findRootKeyByDigest(digest, nowMs);
    if (found === null) return null;
    if (changes === this.#changes) {
      if (this.#known.size >= MAX_CACHED) this.#known.clear();
      this.#known.set(digest, { rootKey: found.rootKey, untilMs: found.secretUntilMs ?? Infinity });
    }
    return found.rootKey;
  }

  async #unknown(digests: readonly string[]): Promise<AppError> {
    const keys = await this.#records.findKeysByDigest(digests);
    const isApiKey = keys.some((key) => key !== null);
    return new AppError('UNAUTHORIZED', isApiKey ? 'This is an API key, not a root key.' : 'This root key is unknown.');
  }
}

/** The right on all things of a kind, present and future: what making a new one needs. */
export function requireEverywhere(actor: Actor, deed: Deed): void {
  if (!holdsRight(actor.rights, deed, ALL_RIGHTS)) throw lacksRight(deed);
}

/** The right on some thing at least: checked before anything is looked up. */
export function requireSomewhere(actor: Actor, deed: Deed): void {
  if (!holdsRightSomewhere(actor.rights, deed)) throw lacksRight(deed);
}

/** What a root key has no right on looks as if it did not exist. `owner` is what the right is on, `id` what was asked for. */
export function requireOn(actor: Actor, deed: Deed, owner: string, what: string, id: string | null): void {
  requireSomewhere(actor, deed);
  if (!holdsRight(actor.rights, deed, owner)) throw notFound(what, id);
}

function lacksRight(deed: Deed): AppError {
  return new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right ${rightTo(deed, ALL_RIGHTS)}.`);
}
