import { AppError, notFound } from '../../../core/errors.ts';
import type { Operation } from '../../../core/rights.ts';
import type { KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import { requireOn } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { type KeyView, viewKey } from './keyView.ts';
import type { AdminContext } from '../change/adminContext.ts';

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

  /** A key that is not deleted. */
  async find(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    return visible(actor, operation, keyId, await this.#context.storage.records.findKey(keyId));
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
    const accounts = keys.flatMap(({ key }) => key.credits?.account ?? []);
    const [states, uses] = await Promise.all([
      accounts.length === 0 ? [] : storage.ledger.read(accounts),
      storage.records.readLastUses(keys.map(({ key }) => key.id)),
    ]);
    const stateOf = new Map(accounts.map((account, i) => [account, states[i]]));
    const nowMs = storage.ledger.nowMs();
    return keys.map((found, i) => {
      const state = found.key.credits === null ? undefined : stateOf.get(found.key.credits.account);
      return viewKey({ ...found, state, refills, nowMs, lastUsedAtMs: uses[i] ?? null });
    });
  }
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
  if (found === null) throw notFound('key', keyId);
  return found;
}

export function readable(found: KeyWithIdentity | PoisonedKey): KeyWithIdentity {
  if (!('poisoned' in found)) return found;
  throw new AppError('INTERNAL_SERVER_ERROR', `The stored key ${found.poisoned} cannot be read: ${found.reason}.`);
}
