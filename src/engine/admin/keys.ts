import { AppError, notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { BLANK_KEY, type IdentityRecord, type KeyRecord, type RootKeyRecord } from '../../core/records.ts';
import type { ApiAction } from '../../core/rights.ts';
import { makeSecret, shownStart } from '../../core/secret.ts';
import type { Change, KeyQuery, KeyWithIdentity, PoisonedKey, RecordWrite, Storage } from '../../storage/port.ts';
import type { KeyCache } from '../keyCache.ts';
import type { Refills } from '../refills.ts';
import type { System } from '../system.ts';
import { requireOn } from './access.ts';
import { applyChange } from './changes.ts';
import { closeAccounts, type KeyChangeContext, newAccountsNeeded, patchKey, retireAccounts } from './keyChange.ts';
import type { KeyPatch, NewKey } from './keyInput.ts';
import { type KeyView, viewKey } from './keyView.ts';

export interface KeyAdminParts {
  readonly storage: Storage;
  readonly system: System;
  readonly keys: KeyCache;
  readonly refills: Refills;
  readonly defaultTimezone: string;
}

export type RemainingChange =
  | { readonly op: 'set'; readonly value: number | null }
  | { readonly op: 'increment' | 'decrement'; readonly value: number };

export class KeyAdmin {
  readonly #parts: KeyAdminParts;

  constructor(parts: KeyAdminParts) {
    this.#parts = parts;
  }

  /** Makes a key; its secret is told this once. */
  async create(actor: RootKeyRecord, input: NewKey): Promise<{ keyId: string; secret: string }> {
    const { storage, system } = this.#parts;
    requireOn(actor, 'create_key', input.apiId, 'api', input.apiId);
    if ((await storage.records.findApi(input.apiId)) === null) throw notFound('api', input.apiId);
    const secret = makeSecret(input.prefix, system.randomBytes(input.byteLength));
    const digest = system.digestSecret(secret);
    return applyChange(storage.ledger, async () => {
      const blank = this.#blankKey(input, digest, shownStart(input.prefix, secret));
      const { key, accounts } = patchKey(blank, input, await this.#context(newAccountsNeeded(input)));
      const identity = await this.#identityFor(input.externalId);
      const writes: RecordWrite[] = [
        ...(identity?.isNew ? [{ kind: 'insertIdentity' as const, identity: identity.record }] : []),
        { kind: 'insertKey', key: { ...key, identityId: identity?.record.id ?? null } },
      ];
      const answer = (): { keyId: string; secret: string } => {
        this.#parts.keys.drop(digest);
        return { keyId: key.id, secret };
      };
      return { change: { writes, accounts }, answer };
    });
  }

  async get(actor: RootKeyRecord, keyId: string): Promise<KeyView> {
    return this.#view(await this.#load(actor, 'read_key', keyId));
  }

  async update(actor: RootKeyRecord, keyId: string, patch: KeyPatch): Promise<void> {
    await applyChange(this.#parts.storage.ledger, async () => {
      const { key: before } = await this.#load(actor, 'update_key', keyId);
      const context = await this.#context(newAccountsNeeded(patch));
      const { key, accounts } = patchKey(before, patch, context);
      const identity = patch.externalId === undefined ? undefined : await this.#identityFor(patch.externalId);
      const identityId = identity === undefined ? before.identityId : (identity?.record.id ?? null);
      const writes: RecordWrite[] = [
        ...(identity?.isNew ? [{ kind: 'insertIdentity' as const, identity: identity.record }] : []),
        { kind: 'updateKey', key: { ...key, identityId, updatedAtMs: context.nowMs }, expect: before.revision },
      ];
      return { change: { writes, accounts }, answer: () => this.#parts.keys.drop(before.secretDigest) };
    });
  }

  /** The counter alone; null = unlimited. Setting, like clearing, a counter that is not there yet changes the key. */
  async updateRemaining(actor: RootKeyRecord, keyId: string, input: RemainingChange): Promise<number | null> {
    const { key } = await this.#load(actor, 'update_key', keyId);
    if (input.op === 'set' && (input.value === null || key.credits === null)) {
      await this.update(actor, keyId, { remaining: input.value });
      return input.value;
    }
    return this.#changeCounter(actor, keyId, input.op === 'set' ? { set: input.value ?? 0 } : { add: signed(input) });
  }

  async delete(actor: RootKeyRecord, keyId: string, permanent: boolean): Promise<void> {
    await applyChange(this.#parts.storage.ledger, async () => {
      const found = await this.#find(actor, 'delete_key', keyId);
      if ('poisoned' in found && permanent) return this.#removePoisoned(found);
      const { key: before } = readable(found);
      const revision = before.revision + 1;
      const answer = (): void => this.#parts.keys.drop(before.secretDigest);
      if (permanent) {
        const writes: RecordWrite[] = [{ kind: 'removeKey', keyId, expect: before.revision }];
        return { change: { writes, accounts: closeAccounts(before) }, answer };
      }
      const nowMs = this.#parts.storage.ledger.nowMs();
      const key: KeyRecord = { ...before, deletedAtMs: nowMs, updatedAtMs: nowMs, revision };
      const writes: RecordWrite[] = [{ kind: 'updateKey', key, expect: before.revision }];
      return { change: { writes, accounts: retireAccounts(before, revision) }, answer };
    });
  }

  async list(
    actor: RootKeyRecord,
    query: KeyQuery,
  ): Promise<{ keys: KeyView[]; total: number; cursor: string | null }> {
    requireOn(actor, 'read_key', query.apiId, 'api', query.apiId);
    requireOn(actor, 'read_api', query.apiId, 'api', query.apiId);
    if ((await this.#parts.storage.records.findApi(query.apiId)) === null) throw notFound('api', query.apiId);
    const page = await this.#parts.storage.records.listKeys(query);
    // One that cannot be read is left out of the page, not the page; asked for by itself, it says what is wrong.
    const items = page.items.flatMap((item) => ('poisoned' in item ? [] : item));
    const keys = await Promise.all(items.map((item) => this.#view(item)));
    return { keys, total: page.total, cursor: page.cursor };
  }

  /** Writes down a refill that has come due; false when there is nothing to write. */
  async applyRefill(keyId: string): Promise<boolean> {
    const { storage, refills } = this.#parts;
    const found = await storage.records.findKey(keyId);
    if (found === null || 'poisoned' in found || found.key.credits === null) return false;
    const { account, refill } = found.key.credits;
    if (refill === null) return false;
    const plan = refills.plan(refill, storage.ledger.nowMs());
    const [state] = await storage.ledger.read([account]);
    if (state === undefined || state.mark >= plan.epoch) return false;
    const { revision } = found.key;
    const change = { account, expect: revision, refill: plan, revision };
    return (await storage.ledger.apply({ writes: [], accounts: [change] })).status === 'done';
  }

  async #changeCounter(
    actor: RootKeyRecord,
    keyId: string,
    by: { readonly set: number } | { readonly add: number },
  ): Promise<number> {
    const { storage, refills } = this.#parts;
    return applyChange(storage.ledger, async () => {
      const { key } = await this.#load(actor, 'update_key', keyId);
      if (key.credits === null) {
        throw new AppError('BAD_REQUEST', `The key ${keyId} has no counter to change; use op "set" to give it one.`);
      }
      const { account, refill } = key.credits;
      const plan = refills.planOrNull(refill, storage.ledger.nowMs());
      const change = { account, expect: key.revision, refill: plan, revision: key.revision, ...by };
      return { change: { writes: [], accounts: [change] }, answer: (done) => done.accounts[0]?.value ?? 0 };
    });
  }

  async #load(actor: RootKeyRecord, action: ApiAction, keyId: string): Promise<KeyWithIdentity> {
    return readable(await this.#find(actor, action, keyId));
  }

  /** A key that cannot be read can still be removed; what its counters were is not known, and nobody can name them. */
  #removePoisoned({ poisoned, revision, secretDigest }: PoisonedKey): { change: Change; answer: () => void } {
    const writes: RecordWrite[] = [{ kind: 'removeKey', keyId: poisoned, expect: revision }];
    return { change: { writes, accounts: [] }, answer: () => this.#parts.keys.drop(secretDigest) };
  }

  async #find(actor: RootKeyRecord, action: ApiAction, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    const found = await this.#parts.storage.records.findKey(keyId);
    // Without a key there is no api to have a right on: an empty id is nobody's.
    const apiId = found === null ? '' : 'poisoned' in found ? found.apiId : found.key.apiId;
    requireOn(actor, action, apiId, 'key', keyId);
    if (found === null) throw notFound('key', keyId);
    return found;
  }

  async #view({ key, identity }: KeyWithIdentity): Promise<KeyView> {
    const { storage, refills } = this.#parts;
    const [state] = key.credits === null ? [] : await storage.ledger.read([key.credits.account]);
    return viewKey({ key, identity, state, refills, nowMs: storage.ledger.nowMs() });
  }

  async #context(newAccounts: number): Promise<KeyChangeContext> {
    const { storage, refills, defaultTimezone } = this.#parts;
    const freeAccounts = [...(await storage.ledger.reserveAccounts(newAccounts))];
    return { refills, nowMs: storage.ledger.nowMs(), defaultTimezone, freeAccounts };
  }

  async #identityFor(
    externalId: string | null | undefined,
  ): Promise<{ record: IdentityRecord; isNew: boolean } | null> {
    if (externalId === null || externalId === undefined) return null;
    const known = await this.#parts.storage.records.findIdentity(externalId);
    if (known !== null) return { record: known, isNew: false };
    const nowMs = this.#parts.storage.ledger.nowMs();
    const id = makeId('id', nowMs, this.#parts.system.randomBytes(ID_RANDOM_BYTES));
    return { record: { id, externalId, meta: null, createdAtMs: nowMs }, isNew: true };
  }

  #blankKey(input: NewKey, secretDigest: string, start: string): KeyRecord {
    const nowMs = this.#parts.storage.ledger.nowMs();
    const id = makeId('key', nowMs, this.#parts.system.randomBytes(ID_RANDOM_BYTES));
    return { ...BLANK_KEY, id, apiId: input.apiId, secretDigest, start, createdAtMs: nowMs };
  }
}

function signed(input: RemainingChange & { op: 'increment' | 'decrement' }): number {
  return input.op === 'increment' ? input.value : -input.value;
}

function readable(found: KeyWithIdentity | PoisonedKey): KeyWithIdentity {
  if (!('poisoned' in found)) return found;
  throw new AppError('INTERNAL_SERVER_ERROR', `The stored key ${found.poisoned} cannot be read: ${found.reason}.`);
}
