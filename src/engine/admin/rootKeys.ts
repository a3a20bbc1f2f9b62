import { MAX_NAME_LENGTH, MIN_ROOT_KEY_LENGTH } from '../../core/bounds.ts';
import { AppError, notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { coversRight, idsWithRight, isRight, type Operation, unknownRight } from '../../core/rights.ts';
import { isSecretShaped, makeSecret, OWN_PREFIXES, shownStart } from '../../core/secret.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireEverywhere, requireOn, requireSomewhere, SYSTEM } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import type { ApplyChange } from './change/applyChange.ts';
import { refuseTooManySecrets } from './change/formerSecrets.ts';
import type { System } from '../platform.ts';
import type { RootKeyRecord } from '../../model/access.ts';
import type { Freshness } from '../../storage/port/freshness.ts';
import type { Records } from '../../storage/port/records.ts';
import type { Storage } from '../../storage/port/storage.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';

const PREFIX = OWN_PREFIXES.rootKey;
const SECRET_BYTES = 24;

export interface NewRootKey {
  readonly name: string | null;
  readonly rights: readonly string[];
  readonly expiresAtMs: number | null;
}

/** Manages root keys: for the start of the service, for the command line, and for other root keys. */
export class RootKeyAdmin {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #changes: ApplyChange;

  constructor({ storage, system, changes }: AdminContext) {
    this.#storage = storage;
    this.#system = system;
    this.#changes = changes;
  }

  /** The root keys that the actor may see, including revoked ones. */
  async list(actor: Actor = SYSTEM): Promise<readonly RootKeyRecord[]> {
    requireSomewhere(actor, 'root.read_root_key');
    const ids = idsWithRight(actor.rights, 'root.read_root_key');
    const all = await this.#storage.records.listRootKeys();
    return ids === null ? all : all.filter(({ id }) => ids.includes(id));
  }

  /** Creates a root key. Its secret is shown this once. */
  async create(input: NewRootKey, actor: Actor = SYSTEM): Promise<{ rootKey: RootKeyRecord; secret: string }> {
    requireEverywhere(actor, 'root.create_root_key');
    refuseMoreRights(actor, input.rights, 'grant it');
    if (input.name !== null && (input.name.length > MAX_NAME_LENGTH || /[\0\p{Surrogate}]/u.test(input.name))) {
      throw new AppError('BAD_REQUEST', `The name may have at most ${MAX_NAME_LENGTH} characters, and no NUL.`);
    }
    if (input.expiresAtMs !== null && !(input.expiresAtMs > this.#storage.ledger.nowMs())) {
      throw new AppError('BAD_REQUEST', 'The expiry time of the root key is in the past.');
    }
    refuseLongerLife(
      actor,
      input.expiresAtMs,
      'create one that is valid for longer; set expires to this time or earlier',
    );
    const secret = this.newSecret();
    return { rootKey: await this.#insert(secret, shownStart(PREFIX, secret), input, actor), secret };
  }

  /** A secret for a root key that is created later, by `adoptFirst`. */
  newSecret(): string {
    return makeSecret(PREFIX, this.#system.randomBytes(SECRET_BYTES));
  }

  /** Creates the first root key, with this secret. */
  adoptFirst(secret: string): Promise<RootKeyRecord> {
    return this.#insert(
      secret,
      shownStart(PREFIX, secret),
      { name: 'first', rights: ['*'], expiresAtMs: null },
      SYSTEM,
    );
  }

  /** Creates a root key with a secret that the operator chose. An existing one is left as it is; a revoked one is refused. */
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
      throw new AppError('UNAUTHORIZED', `The configured root key (${known.id}) was revoked. Configure another one.`);
    }
    return known;
  }

  async revoke(rootKeyId: string, actor: Actor = SYSTEM): Promise<void> {
    await this.#changes.apply(async () => {
      const known = await this.#load(actor, 'root.revoke_root_key', rootKeyId);
      if (known.revokedAtMs !== null) return { change: { writes: [], accounts: [] }, answer: () => undefined };
      const revokedAtMs = this.#storage.ledger.nowMs();
      const facts = auditedRootKey(known);
      const entry = auditEntry(actor, { action: 'rootKey.revoke', target: rootKeyId, before: facts, after: null });
      return {
        change: {
          writes: [
            { kind: 'revokeRootKey', rootKeyId, revokedAtMs },
            { kind: 'endSessions', rootKeyId },
          ],
          accounts: [],
          entries: [entry],
        },
        answer: () => undefined,
      };
    });
  }

  /** Gives the root key another secret. The old secret stays valid for `overlapMs`; 0 ends all former secrets at once. */
  async rotate(rootKeyId: string, overlapMs: number, actor: Actor): Promise<string> {
    return this.#changes.apply(async () => {
      const known = await this.#load(actor, 'root.create_root_key', rootKeyId);
      // The caller gets the new secret, and with it the root key's rights until it expires.
      refuseMoreRights(actor, known.rights, `rotate ${rootKeyId}`);
      const nowMs = this.#storage.ledger.nowMs();
      refuseEnded(known, nowMs);
      refuseLongerLife(actor, known.expiresAtMs, `rotate ${rootKeyId}, which is valid for longer`);
      if (overlapMs > 0) {
        const former = await this.#storage.records.listFormerSecrets([rootKeyId]);
        refuseTooManySecrets(former, `root key ${rootKeyId}`, nowMs);
      }
      const secret = this.newSecret();
      const [secretDigest, start] = [this.#system.digestSecret(secret), shownStart(PREFIX, secret)];
      const writes: RecordWrite[] = [
        { kind: 'rotateRootKey', rootKeyId, expect: known.secretDigest, secretDigest, start },
      ];
      const former = { digest: known.secretDigest, owner: rootKeyId, untilMs: nowMs + overlapMs };
      // Without an overlap every former secret and every session ends: the caller may have lost one.
      if (overlapMs > 0) writes.push({ kind: 'insertSecret', secret: former });
      else writes.push({ kind: 'endSecrets', owner: rootKeyId }, { kind: 'endSessions', rootKeyId });
      const [before, after] = [{ start: known.start }, { start, overlapMs }];
      const entry = auditEntry(actor, { action: 'rootKey.rotate', target: rootKeyId, before, after });
      return { change: { writes, accounts: [], entries: [entry] }, answer: () => secret };
    });
  }

  async #load(actor: Actor, operation: Operation, rootKeyId: string): Promise<RootKeyRecord> {
    requireOn(actor, operation, rootKeyId, 'root key', rootKeyId);
    const known = await this.#storage.records.findRootKey(rootKeyId);
    if (known === null) throw notFound('root key', rootKeyId);
    return known;
  }

  async #find(digests: readonly string[]): Promise<RootKeyRecord | null> {
    for (const digest of digests) {
      const found = await this.#storage.records.findRootKeyByDigest(digest, this.#storage.ledger.nowMs());
      if (found !== null) return found.rootKey;
    }
    return null;
  }

  async #insert(secret: string, start: string, input: NewRootKey, actor: Actor): Promise<RootKeyRecord> {
    const wrong = input.rights.find((right) => !isRight(right));
    if (wrong !== undefined || input.rights.length === 0) {
      throw new AppError('BAD_REQUEST', unknownRight(wrong ?? ''));
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
    const after = auditedRootKey(rootKey);
    const entry = auditEntry(actor, { action: 'rootKey.create', target: rootKey.id, before: null, after });
    await this.#changes.applyOnce({ writes: [{ kind: 'insertRootKey', rootKey }], accounts: [], entries: [entry] });
    return rootKey;
  }
}

/** A root key cannot give rights that it does not have. */
function refuseMoreRights(actor: Actor, rights: readonly string[], action: string): void {
  const lacking = rights.find((right) => isRight(right) && !coversRight(actor.rights, right));
  if (lacking === undefined) return;
  throw new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right ${lacking}, so it cannot ${action}.`);
}

/** A root key cannot create one that is valid for longer: each could make its successor, and no expiry would ever take effect. */
function refuseLongerLife({ untilMs }: Actor, expiresAtMs: number | null, action: string): void {
  if (untilMs === null || (expiresAtMs !== null && expiresAtMs <= untilMs)) return;
  throw new AppError(
    'INSUFFICIENT_PERMISSIONS',
    `This root key is valid until ${untilMs} (unix milliseconds), so it cannot ${action}.`,
  );
}

function refuseEnded({ id, revokedAtMs, expiresAtMs }: RootKeyRecord, nowMs: number): void {
  const isExpired = expiresAtMs !== null && nowMs >= expiresAtMs;
  if (revokedAtMs === null && !isExpired) return;
  const how = revokedAtMs === null ? 'has expired' : 'was revoked';
  throw new AppError('PRECONDITION_FAILED', `The root key ${id} ${how}; create another one.`);
}

function auditedRootKey({ name, start, rights, expiresAtMs }: RootKeyRecord): Record<string, unknown> {
  return { name, start, permissions: rights, expires: expiresAtMs };
}

/** Root keys kept in memory. There are few of them. The bound keeps the memory small whatever callers send. */
const MAX_CACHED = 1000;

/** A root key, found by one of its secrets. */
interface Caller {
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
    if (!this.#freshness.mayUseCache()) await this.#freshness.confirm();
    const caller = await this.#findAny(digests, nowMs);
    if (caller === null)
      throw new AppError(
        'UNAUTHORIZED',
        'This root key is unknown. Check that it is complete, and that it is one of this service.',
      );
    const { rootKey } = caller;
    if (rootKey.revokedAtMs !== null) throw new AppError('UNAUTHORIZED', 'This root key was revoked. Use another one.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs) {
      throw new AppError('UNAUTHORIZED', 'This root key has expired. Use another one.');
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
