import { AppError, notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { DefaultLimit } from '../../core/records.ts';
import { idsWithRight, type Operation } from '../../core/rights.ts';
import { searchWords } from '../../core/search.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireEverywhere, requireOn, requireSomewhere } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { closeAccounts, retireAccounts } from './change/counters.ts';
import { idsAround } from './readKeys.ts';
import { type ApiRecord, BLANK_API } from '../../model/apis.ts';
import type { FormerSecret, KeyWithIdentity, Page, PoisonedKey } from '../../storage/port/records.ts';
import type { KeyToDelete } from '../../storage/port/writes.ts';

/** null clears a field; an absent field stays as it is. */
interface ApiPatch {
  readonly name?: string;
  readonly defaultPrefix?: string | null;
  readonly defaultByteLength?: number | null;
  readonly defaultLimit?: DefaultLimit | null;
  readonly isDeleteProtected?: boolean;
}

export class ApiAdmin {
  readonly #context: AdminContext;
  readonly #deleteAllKeys: DeleteAllKeys;

  constructor(context: AdminContext, deleteAllKeys: DeleteAllKeys) {
    this.#context = context;
    this.#deleteAllKeys = deleteAllKeys;
  }

  async create(actor: Actor, name: string): Promise<ApiRecord> {
    const { storage, system, changes, quotas } = this.#context;
    requireEverywhere(actor, 'api.create_api');
    const nowMs = storage.ledger.nowMs();
    const id = makeId('api', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const api: ApiRecord = { ...BLANK_API, id, name, createdAtMs: nowMs };
    const entry = auditEntry(actor, { action: 'api.create', target: id, before: null, after: auditedApi(api) });
    await quotas.creating('apis', 1, (keepQuota) =>
      changes.apply(async () => {
        const writes = [{ kind: 'insertApi', api } as const, ...(await keepQuota())];
        return { change: { writes, accounts: [], entries: [entry] }, answer: () => undefined };
      }),
    );
    return api;
  }

  get(actor: Actor, apiId: string): Promise<ApiRecord> {
    return this.#load(actor, 'api.read_api', apiId);
  }

  /** Only apis that the root key may read. */
  async list(actor: Actor, limit: number, after: string | null): Promise<Page<ApiRecord>> {
    requireSomewhere(actor, 'api.read_api');
    return this.#context.storage.records.listApis({ limit, after, ids: idsWithRight(actor.rights, 'api.read_api') });
  }

  async update(actor: Actor, apiId: string, patch: ApiPatch): Promise<void> {
    // An empty patch changes nothing and writes no audit entry.
    if (Object.keys(patch).length === 0) return void (await this.#load(actor, 'api.update_api', apiId));
    await this.#change(actor, 'api.update_api', apiId, 'api.update', (before) => ({ ...before, ...patch }));
  }

  /** Deletes all keys of the api and answers how many there were. */
  deleteKeys(actor: Actor, apiId: string, permanent: boolean): Promise<number> {
    return this.#deleteAllKeys.deleteAll(actor, () => this.#load(actor, 'api.delete_key', apiId), permanent);
  }

  /** Deletes the api and all its keys. After the answer, no verification finds them. */
  async delete(actor: Actor, apiId: string): Promise<void> {
    const api = await this.#change(actor, 'api.delete_api', apiId, 'api.delete', (before) => {
      if (before.isDeleteProtected) {
        throw new AppError(
          'DELETE_PROTECTED',
          `The api ${apiId} is protected from deletion. Set deleteProtection to false with apis.updateApi first.`,
        );
      }
      // A deleted api cannot be restored, so its keys are removed for good.
      return { ...nextGeneration(before, true), deletedAtMs: this.#context.storage.ledger.nowMs() };
    });
    await this.#deleteAllKeys.deleteLeftBehind(api);
  }

  #change(
    actor: Actor,
    operation: Operation,
    apiId: string,
    action: string,
    make: (before: ApiRecord) => ApiRecord,
  ): Promise<ApiRecord> {
    const { storage, changes } = this.#context;
    return changes.apply(async () => {
      const before = await this.#load(actor, operation, apiId);
      const api = { ...make(before), updatedAtMs: storage.ledger.nowMs(), revision: before.revision + 1 };
      const after = api.deletedAtMs === null ? auditedApi(api) : null;
      const entry = auditEntry(actor, { action, target: apiId, before: auditedApi(before), after });
      return {
        change: {
          writes: [{ kind: 'updateApi', api, expect: before.revision, endsKeys: api.deletedAtMs !== null }],
          accounts: [],
          entries: [entry],
        },
        answer: () => api,
      };
    });
  }

  async #load(actor: Actor, operation: Operation, apiId: string): Promise<ApiRecord> {
    requireOn(actor, operation, apiId, 'api', apiId);
    const api = await this.#context.storage.records.findApi(apiId);
    if (api === null) throw notFound('api', apiId);
    return api;
  }
}

function auditedApi(api: ApiRecord): Record<string, unknown> {
  const { name, defaultPrefix, defaultByteLength, defaultLimit, isDeleteProtected } = api;
  const { limit, durationMs, async } = defaultLimit ?? {};
  const defaultRatelimit = defaultLimit === null ? null : { limit, duration: durationMs, async };
  return { name, defaultPrefix, defaultByteLength, defaultRatelimit, deleteProtection: isDeleteProtected };
}

/** Keys of one step. SQLite deletes them in one commit. */
const STEP = 200;
/** On a shared database a step is smaller: its transaction locks the counters of its keys until it ends. */
const SHARED_STEP = 50;

type Found = KeyWithIdentity | PoisonedKey;
type EmptiedApi = Pick<ApiRecord, 'id' | 'purgesBelow'>;

/**
 * Deletes all keys of an api at once. First, one small transaction begins a new generation of the api: from then on no key of an
 * older generation is found. Then each of these keys is deleted in the tables, which also stops other nodes from spending on it.
 * If the process stops in between, the sweep (`finish`) goes on.
 */
export class DeleteAllKeys {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async deleteAll(actor: Actor, load: () => Promise<ApiRecord>, permanent: boolean): Promise<number> {
    const { changes, storage } = this.#context;
    const api = await changes.apply(async () => {
      const before = await load();
      const { total: keys } = await storage.records.listKeys({ ...FIRST_KEY, apiId: before.id });
      const after: ApiRecord = {
        ...nextGeneration(before, permanent),
        updatedAtMs: storage.ledger.nowMs(),
        revision: before.revision + 1,
      };
      const deleted = { keys, permanent };
      const entry = auditEntry(actor, { action: 'api.deleteKeys', target: after.id, before: null, after: deleted });
      return {
        change: {
          writes: [{ kind: 'updateApi', api: after, expect: before.revision, endsKeys: true }],
          accounts: [],
          entries: [entry],
        },
        answer: () => after,
      };
    });
    return this.deleteLeftBehind(api);
  }

  /** Continues deletions that were interrupted. */
  async finish(): Promise<void> {
    for (const api of await this.#context.storage.records.listApisWithKeysLeftBehind())
      await this.deleteLeftBehind(api);
  }

  /**
   * Deletes the keys of former generations that are still in the tables, and answers how many. When it ends, no other node can
   * decide spends of these keys from memory any more, except of keys that cannot be changed.
   */
  async deleteLeftBehind(api: EmptiedApi): Promise<number> {
    const { records, localCounts } = this.#context.storage;
    let count = 0;
    let stuck = '';
    for (;;) {
      const left = await records.listKeysLeftBehind(api.id, localCounts.isShared ? SHARED_STEP : STEP);
      const isDone = left.length > 0 && (await this.#deleteStep(api, left));
      const done = isDone ? left.length : await this.#deleteOneByOne(api, left);
      count += done;
      if (left.length === 0) return count;
      // Another node may delete them at the same time; then the next step finds other keys. The same keys twice cannot be changed
      // now: the next sweep tries again.
      const ids = left.map(idOf).join();
      if (done === 0 && ids === stuck) return count;
      stuck = done === 0 ? ids : '';
    }
  }

  /** A key that another node or call changes at the same time fails alone, and does not hold up the others. */
  async #deleteOneByOne(api: EmptiedApi, left: readonly Found[]): Promise<number> {
    let done = 0;
    for (const found of left) if (await this.#deleteStep(api, [found])) done++;
    return done;
  }

  /** The counters of a key that cannot be read stay: their accounts are unknown. */
  async #deleteStep({ id: apiId, purgesBelow }: EmptiedApi, left: readonly Found[]): Promise<boolean> {
    const { changes, storage, events } = this.#context;
    const former = await storage.records.listFormerSecrets(left.map(idOf));
    const isPurged = (found: Found): boolean => generationOf(found) < purgesBelow;
    const [purged, retired] = [left.filter(isPurged), left.filter((found) => !isPurged(found))];
    const toDelete = (some: readonly Found[]): KeyToDelete[] => some.map((found) => toKeyToDelete(found, former));
    const keysOf = (some: readonly Found[]) => some.flatMap((found) => ('poisoned' in found ? [] : found.key));
    const deletedAtMs = storage.ledger.nowMs();
    return changes.tryOnce({
      writes: [
        ...(purged.length === 0 ? [] : [{ kind: 'removeKeys' as const, apiId, keys: toDelete(purged) }]),
        ...(retired.length === 0 ? [] : [{ kind: 'retireKeys' as const, keys: toDelete(retired), deletedAtMs }]),
      ],
      accounts: [
        ...keysOf(purged).flatMap(closeAccounts),
        ...keysOf(retired).flatMap((key) => retireAccounts(key, key.revision + 1)),
      ],
      // The audit log has one entry for all of them. Whoever follows the events hears of each.
      events: left.map((found) => events.make('key.deleted', idsOf(apiId, found), { permanent: isPurged(found) })),
    });
  }
}

const FIRST_KEY = { externalId: null, search: null, limit: 1, after: null } as const;

/** The api in its next generation, to which none of its present keys belongs. */
function nextGeneration(api: ApiRecord, permanent: boolean): ApiRecord {
  const generation = api.generation + 1;
  return { ...api, generation, purgesBelow: permanent ? generation : api.purgesBelow };
}

function idOf(found: Found): string {
  return 'poisoned' in found ? found.poisoned : found.key.id;
}

function idsOf(apiId: string, found: Found): Record<string, string> {
  return { keyId: idOf(found), ...('poisoned' in found ? { apiId } : idsAround(found.key, found.identity)) };
}

function generationOf(found: Found): number {
  return 'poisoned' in found ? found.generation : found.key.generation;
}

function toKeyToDelete(found: Found, former: readonly FormerSecret[]): KeyToDelete {
  const id = idOf(found);
  const { secretDigest, revision: expect } = 'poisoned' in found ? found : found.key;
  const others = former.filter(({ owner }) => owner === id).map(({ digest }) => digest);
  const words = 'poisoned' in found ? [] : searchWords(found.key.name, found.key.meta);
  return { id, expect, digests: [secretDigest, ...others], words };
}
