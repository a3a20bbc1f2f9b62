import { AppError, notFound } from '../../../core/errors.ts';
import { idPattern } from '../../../core/ids.ts';
import type { Operation } from '../../../core/rights.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { FilteredKeyQuery, FilteredPage, KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import { plansOf, readMoved } from '../../planOf.ts';
import { readCredits } from '../change/readCredits.ts';
import { requireOn } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { type KeyDetails, type KeyView, viewKey } from './keyView.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { readPlanLimits, readUsedLimits } from '../limits/usedLimits.ts';

const KEY_ID = new RegExp(idPattern('key'));

/** Finds keys that the actor may see. */
export class KeyReader {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** A key that is not deleted and whose record can be read. */
  async load(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity> {
    return readable(await this.find(actor, operation, keyId));
  }

  /** A key that is not deleted, on the plan that it is to have by now. */
  async find(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    const { records } = this.#context.storage;
    const read = async () => visible(actor, operation, keyId, await records.findKey(keyId));
    return readMoved(this.#context, read, (found) => holdersAmong([found]));
  }

  /** A page of keys, on the plans that they are to have by now. */
  list(query: FilteredKeyQuery): Promise<FilteredPage<KeyWithIdentity | PoisonedKey>> {
    const list = () => this.#context.storage.records.listFilteredKeys(query);
    return readMoved(this.#context, list, ({ items }) => holdersAmong(items));
  }

  /** The key whose id was searched for, without other filters; null: search as usual. */
  async searchById({
    apiId,
    externalId,
    search,
    state,
    planId,
  }: Omit<FilteredKeyQuery, 'nowMs'>): Promise<FilteredPage<KeyWithIdentity> | null> {
    if (search === null || !KEY_ID.test(search) || externalId !== null || state !== null || planId !== null)
      return null;
    const found = await this.#context.storage.records.findKey(search);
    if (found === null || 'poisoned' in found || found.key.apiId !== apiId) return null;
    return { items: [found], total: 1, cursor: null };
  }

  /** A key, also a softly deleted one. */
  async findAny(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    return visible(actor, operation, keyId, await this.#context.storage.records.findAnyKey(keyId));
  }

  /** Digests of former secrets, under which nodes may have cached the key. */
  async formerDigests(keyId: string): Promise<readonly string[]> {
    return (await this.#context.storage.records.listFormerSecrets([keyId])).map(({ digest }) => digest);
  }

  async view(keys: readonly KeyWithIdentity[]): Promise<KeyView[]> {
    const { storage, refills } = this.#context;
    const holders = keys.map(({ key }) => key);
    const [states, uses] = await Promise.all([
      readCredits(this.#context, holders),
      storage.records.readLastUses(holders.map(({ id }) => id)),
    ]);
    const plans = await plansOf(storage.records, holders);
    const nowMs = storage.ledger.nowMs();
    return keys.map((found, i) => {
      const plan = plans.get(found.key.planId ?? '') ?? null;
      return viewKey({ ...found, plan, state: states[i], refills, nowMs, lastUsedAtMs: uses[i] ?? null });
    });
  }

  async details(found: KeyWithIdentity): Promise<KeyDetails> {
    const { storage } = this.#context;
    const { id, limits } = found.key;
    const view = (await this.view([found]))[0] as KeyView;
    const [used, planUsed] = await Promise.all([
      readUsedLimits(storage, id, limits),
      readPlanLimits(storage, id, view.plan),
    ]);
    return { ...view, used, planUsed };
  }
}

function holdersAmong(found: readonly (KeyWithIdentity | PoisonedKey)[]): KeyRecord[] {
  return found.flatMap((each) => ('poisoned' in each ? [] : each.key));
}

function visible<T extends KeyWithIdentity | PoisonedKey>(
  actor: Actor,
  operation: Operation,
  keyId: string,
  found: T | null,
): T {
  // An unknown key has no api. No root key has a right on an empty id.
  const apiId = found === null ? '' : 'poisoned' in found ? found.apiId : found.key.apiId;
  requireOn(actor, operation, apiId, 'key', keyId);
  if (found === null || !isOfCustomer(actor, found)) throw notFound('key', keyId);
  return found;
}

/** An actor that acts for a customer sees only the keys of this one. */
function isOfCustomer({ onlyFor }: Actor, found: KeyWithIdentity | PoisonedKey): boolean {
  return onlyFor === undefined || (!('poisoned' in found) && found.key.identityId === onlyFor);
}

export function readable(found: KeyWithIdentity | PoisonedKey): KeyWithIdentity {
  if (!('poisoned' in found)) return found;
  throw new AppError('INTERNAL_SERVER_ERROR', `The stored key ${found.poisoned} cannot be read: ${found.reason}.`);
}
