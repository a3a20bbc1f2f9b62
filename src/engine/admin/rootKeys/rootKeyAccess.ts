import { AppError, notFound } from '../../../core/errors.ts';
import type { RootKeyRecord } from '../../../core/records.ts';
import { ALL_RIGHTS, type Operation, holdsRight, holdsRightSomewhere, rightTo } from '../../../core/rights.ts';
import type { Freshness } from '../../../storage/port/freshness.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';

/** What gives an owner to a key. */
export type OwnerOperation = 'api.create_key' | 'api.update_key';

/** Root keys that are kept in memory; there are few, and a flood of wrong ones must not fill it. */
const MAX_CACHED = 1000;

/** A root key under one of its secrets. */
export interface Caller {
  readonly rootKey: RootKeyRecord;
  /** When a replaced secret ends; null = it is the present one. */
  readonly secretUntilMs: number | null;
  /** When this caller ends, by its expiry or by the end of its secret; null = never. */
  readonly untilMs: number | null;
}

/** Who calls, and what they may do. */
export class RootKeyAccess {
  readonly #records: Records;
  readonly #freshness: Freshness;
  readonly #known = new Map<string, Caller>();
  #changes = 0;

  constructor(records: Records, freshness: Freshness) {
    this.#records = records;
    this.#freshness = freshness;
  }

  /**
   * The root key, if it is good now; the message of the error tells what is wrong with it. A secret that belongs to no root key
   * is unknown, whatever else it may belong to: nobody learns here that an API key exists.
   */
  async authenticate(digests: readonly string[], nowMs: number): Promise<Caller> {
    if (digests.length === 0) {
      throw new AppError('UNAUTHORIZED', 'A root key is needed: send it as "Authorization: Bearer root_...".');
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

  /** A root key was revoked, rotated or added. */
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

  /** What was read while root keys changed is used, but not kept: it may be from before the change. */
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

/** Of two ends the first; null = never. */
function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** The right on all things of a kind, present and future: what making a new one needs. */
export function requireEverywhere(actor: Actor, operation: Operation): void {
  if (!holdsRight(actor.rights, operation, ALL_RIGHTS)) throw lacksRight(operation);
}

/** The right on some thing at least: checked before anything is looked up. */
export function requireSomewhere(actor: Actor, operation: Operation): void {
  if (!holdsRightSomewhere(actor.rights, operation)) throw lacksRight(operation);
}

/** What a root key has no right on looks as if it did not exist. `owner` is what the right is on, `id` what was asked for. */
export function requireOn(actor: Actor, operation: Operation, owner: string, what: string, id: string | null): void {
  requireSomewhere(actor, operation);
  if (!holdsRight(actor.rights, operation, owner)) throw notFound(what, id);
}

/** A root key that may do this in every api, or may make identities, may name any identity as the owner of a key. */
export function mayNameAnyOwner({ rights }: Actor, operation: OwnerOperation): boolean {
  return holdsRight(rights, operation, ALL_RIGHTS) || holdsRight(rights, 'identity.create_identity', ALL_RIGHTS);
}

/**
 * Identities belong to no api, and a key of an identity reads its metadata and spends what it has. A root key of single apis
 * therefore needs a right on identities to name one: to make any, or to change this one. `identityId` null: there is none of
 * that name. The refusal is the same in both cases, so that it tells nothing of other apis' customers.
 */
export function requireOwner(actor: Actor, operation: OwnerOperation, identityId: string | null): void {
  if (mayNameAnyOwner(actor, operation)) return;
  if (identityId !== null && holdsRight(actor.rights, 'identity.update_identity', identityId)) return;
  throw lacksRight('identity.create_identity');
}

function lacksRight(operation: Operation): AppError {
  return new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right ${rightTo(operation, ALL_RIGHTS)}.`);
}
