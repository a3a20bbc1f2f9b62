import type { ApiRecord } from '../../../core/records.ts';
import { searchWords } from '../../../core/search.ts';
import type { KeyToDelete, FormerSecret, KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';
import { auditEvent } from '../audit/auditEvent.ts';
import { closeAccounts, retireAccounts } from '../change/counters.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Keys of one step: on one machine they are one commit. */
const STEP = 200;
/** Where the database is shared, the counters of the keys are held for as long as the transaction takes. */
const SHARED_STEP = 50;

type Found = KeyWithIdentity | PoisonedKey;
type EmptiedApi = Pick<ApiRecord, 'id' | 'purgesBelow'>;

/**
 * Deletes all keys of an api at once: the api begins another generation, in one small transaction, and no key of an older one
 * is found from then on. Then each is written down as deleted, which also ends what other nodes spend of it; should that
 * be cut short, the sweep goes on with it.
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
      const told = { keys, permanent };
      const event = auditEvent(actor, { action: 'api.deleteKeys', target: after.id, before: null, after: told });
      return {
        change: {
          writes: [{ kind: 'updateApi', api: after, expect: before.revision, endsKeys: true }],
          accounts: [],
          events: [event],
        },
        answer: () => after,
      };
    });
    return this.deleteLeftBehind(api);
  }

  /** Goes on with deletions that were cut short. */
  async finish(): Promise<void> {
    for (const api of await this.#context.storage.records.listApisWithKeysLeftBehind())
      await this.deleteLeftBehind(api);
  }

  /**
   * Goes through the keys that a deletion has left behind; answers how many it has written down. When it ends, none is left whose
   * spends another node could still decide from memory, but for those that nobody can change.
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
      // Another node may be at it as well: then there are others left now. The same again cannot be changed; the next sweep tries.
      const ids = left.map(idOf).join();
      if (done === 0 && ids === stuck) return count;
      stuck = done === 0 ? ids : '';
    }
  }

  /** Another node or a single deletion may have come in between: it holds up that key alone. */
  async #deleteOneByOne(api: EmptiedApi, left: readonly Found[]): Promise<number> {
    let done = 0;
    for (const found of left) if (await this.#deleteStep(api, [found])) done++;
    return done;
  }

  /** Of a key that cannot be read the counters stay: nobody can name them. */
  async #deleteStep({ id: apiId, purgesBelow }: EmptiedApi, left: readonly Found[]): Promise<boolean> {
    const { changes, storage } = this.#context;
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
    });
  }
}

const FIRST_KEY = { externalId: null, search: null, limit: 1, after: null } as const;

/** The api as it is when none of its keys until now counts any more. */
export function nextGeneration(api: ApiRecord, permanent: boolean): ApiRecord {
  const generation = api.generation + 1;
  return { ...api, generation, purgesBelow: permanent ? generation : api.purgesBelow };
}

function idOf(found: Found): string {
  return 'poisoned' in found ? found.poisoned : found.key.id;
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
