import { MAX_NAME_LENGTH, MIN_ROOT_KEY_LENGTH } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { RootKeyRecord } from '../../core/records.ts';
import { isRight } from '../../core/rights.ts';
import { isSecretShaped, makeSecret, shownStart } from '../../core/secret.ts';
import type { Storage } from '../../storage/port.ts';
import type { System } from '../system.ts';
import { type Actor, SYSTEM } from './actor.ts';
import { auditEvent } from './audit.ts';
import type { Changes } from './changes.ts';
import type { AdminParts } from './parts.ts';

const PREFIX = 'root';
const SECRET_BYTES = 24;

export interface NewRootKey {
  readonly name: string | null;
  readonly rights: readonly string[];
  readonly expiresAtMs: number | null;
}

/** Root keys: those that the start makes, that the command line manages, and that other root keys hand out. */
export class RootKeyAdmin {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #changes: Changes;

  constructor({ storage, system, changes }: AdminParts) {
    this.#storage = storage;
    this.#system = system;
    this.#changes = changes;
  }

  list(): Promise<readonly RootKeyRecord[]> {
    return this.#storage.records.listRootKeys();
  }

  /** Makes a root key; its secret is told this once. */
  async create(input: NewRootKey, actor: Actor = SYSTEM): Promise<{ rootKey: RootKeyRecord; secret: string }> {
    if (input.name !== null && (input.name.length > MAX_NAME_LENGTH || /[\0\p{Surrogate}]/u.test(input.name))) {
      throw new AppError('BAD_REQUEST', `The name may have at most ${MAX_NAME_LENGTH} characters, and no NUL.`);
    }
    if (input.expiresAtMs !== null && !(input.expiresAtMs > this.#storage.ledger.nowMs())) {
      throw new AppError('BAD_REQUEST', 'The root key would expire in the past.');
    }
    const secret = makeSecret(PREFIX, this.#system.randomBytes(SECRET_BYTES));
    return { rootKey: await this.#insert(secret, shownStart(PREFIX, secret), input, actor), secret };
  }

  /** Takes a secret that the operator chose. One that is there already is left as it is; a revoked one is refused. */
  async adopt(secret: string): Promise<RootKeyRecord> {
    if (!isSecretShaped(secret) || secret.length < MIN_ROOT_KEY_LENGTH) {
      throw new AppError(
        'BAD_REQUEST',
        `The root key must have at least ${MIN_ROOT_KEY_LENGTH} characters, all of them printable ASCII.`,
      );
    }
    const known = await this.#find([this.#system.digestSecret(secret), ...this.#system.olderDigests(secret)]);
    if (known === null)
      return this.#insert(secret, secret.slice(0, 4), { name: 'configured', rights: ['*'], expiresAtMs: null }, SYSTEM);
    if (known.revokedAtMs !== null) {
      throw new AppError(
        'UNAUTHORIZED',
        `The configured root key (${known.id}) was revoked and stays so. Configure another one.`,
      );
    }
    return known;
  }

  async revoke(rootKeyId: string, actor: Actor = SYSTEM): Promise<void> {
    const known = (await this.list()).find(({ id }) => id === rootKeyId);
    if (known === undefined) throw new AppError('NOT_FOUND', `There is no root key ${repeatable(rootKeyId)}.`);
    if (known.revokedAtMs !== null) return;
    const revokedAtMs = this.#storage.ledger.nowMs();
    const facts = rootKeyFacts(known);
    const event = auditEvent(actor, { action: 'rootKey.revoke', target: rootKeyId, before: facts, after: null });
    await this.#changes.applyOnce({
      writes: [{ kind: 'revokeRootKey', rootKeyId, revokedAtMs }],
      accounts: [],
      events: [event],
    });
  }

  async #find(digests: readonly string[]): Promise<RootKeyRecord | null> {
    for (const digest of digests) {
      const found = await this.#storage.records.findRootKeyByDigest(digest, this.#storage.ledger.nowMs());
      if (found !== null) return found;
    }
    return null;
  }

  async #insert(secret: string, start: string, input: NewRootKey, actor: Actor): Promise<RootKeyRecord> {
    const wrong = input.rights.find((right) => !isRight(right));
    if (wrong !== undefined || input.rights.length === 0) {
      throw new AppError(
        'BAD_REQUEST',
        `${repeatable(wrong ?? '')} is no right. Rights look like "*" or "api.*.create_key".`,
      );
    }
    const nowMs = this.#storage.ledger.nowMs();
    const rootKey: RootKeyRecord = {
      id: makeId('rk', nowMs, this.#system.randomBytes(ID_RANDOM_BYTES)),
      secretDigest: this.#system.digestSecret(secret),
      start,
      name: input.name,
      rights: input.rights,
      createdAtMs: nowMs,
      expiresAtMs: input.expiresAtMs,
      revokedAtMs: null,
    };
    const after = rootKeyFacts(rootKey);
    const event = auditEvent(actor, { action: 'rootKey.create', target: rootKey.id, before: null, after });
    await this.#changes.applyOnce({ writes: [{ kind: 'insertRootKey', rootKey }], accounts: [], events: [event] });
    return rootKey;
  }
}

function rootKeyFacts({ name, start, rights, expiresAtMs }: RootKeyRecord): Record<string, unknown> {
  return { name, start, permissions: rights, expires: expiresAtMs };
}
