import type { ApiRecord } from '../../../model/apis.ts';
import { searchWords } from '../../../core/search.ts';
import type { FormerSecret, KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import type { KeyToDelete } from '../../../storage/port/writes.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { closeAccounts, retireAccounts } from '../change/counters.ts';
import { idsAround } from '../keys/auditedKey.ts';
import type { AdminContext } from '../change/adminContext.ts';

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
export function nextGeneration(api: ApiRecord, permanent: boolean): ApiRecord {
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
