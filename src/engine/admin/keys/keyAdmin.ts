import { AppError, notFound } from '../../../core/errors.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import { searchWords } from '../../../core/search.ts';
import { heldCredits, heldRefill } from '../../../core/plan.ts';
import type { FilteredKeyQuery } from '../../../storage/port/records.ts';
import type { WordChange } from '../../../storage/port/writes.ts';
import { type Actor, requireOn } from '../change/requireRight.ts';
import { auditEntry } from '../audit.ts';
import { creditsIndex, newAccountsNeeded, patchCounters, requireBalance } from '../change/counters.ts';
import { auditedKey, idsAround, type KeyDetails, KeyReader, type KeyView } from './readKeys.ts';
import {
  type CreatedKey,
  CreateKey,
  CreateKeys,
  type KeyPatch,
  type NewKey,
  newSecret,
  patched,
} from './createKeys.ts';
import { emptyDraft } from '../change/applyChange.ts';
import { joinIdentity } from './newIdentities.ts';
import { planOf } from '../../planOf.ts';
import type { AdminContext } from '../change/adminContext.ts';

type RemainingChange =
  | { readonly op: 'set'; readonly value: number | null }
  | { readonly op: 'increment' | 'decrement'; readonly value: number };

type KeyListQuery = Omit<FilteredKeyQuery, 'nowMs'>;

interface KeyList {
  readonly keys: readonly KeyView[];
  /** null = not counted: counting would read all keys. */
  readonly total: number | null;
  readonly cursor: string | null;
}

export class KeyAdmin {
  readonly #context: AdminContext;
  readonly #createKey: CreateKey;
  readonly #createKeys: CreateKeys;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#createKey = new CreateKey(context);
    this.#createKeys = new CreateKeys(context);
    this.#reader = new KeyReader(context);
  }

  /** Creates a key. Its secret is shown this once. */
  async create(actor: Actor, input: NewKey): Promise<CreatedKey> {
    const { changes, quotas, system } = this.#context;
    requireOn(actor, 'api.create_key', input.apiId, 'api', input.apiId);
    return quotas.creating('keys', 1, (keepQuota) =>
      changes.apply(async () => {
        const api = await this.#api(input.apiId);
        const { secret, stored } = newSecret(system, api, input);
        const draft = emptyDraft();
        const key = await this.#createKey.draftKey(draft, actor, api, { ...input, secret: stored });
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => ({ keyId: key.id, secret }) };
      }),
    );
  }

  /** Creates all keys or none, and answers them in the order of the inputs. */
  createMany(actor: Actor, inputs: readonly NewKey[]): Promise<readonly CreatedKey[]> {
    return this.#createKeys.create(actor, inputs);
  }

  async get(actor: Actor, keyId: string): Promise<KeyDetails> {
    return this.#reader.details(await this.#reader.load(actor, 'api.read_key', keyId));
  }

  /** Finds the key of a secret, by the digests under which it may be stored. */
  async whoami(actor: Actor, digests: readonly string[]): Promise<KeyDetails> {
    const nowMs = this.#context.storage.ledger.nowMs();
    const found = (await this.#context.storage.records.findKeysByDigest(digests)).find((each) => each !== null);
    const isOver = found != null && !('poisoned' in found) && nowMs >= (found.secretUntilMs ?? Infinity);
    const key = found == null || isOver ? null : 'poisoned' in found ? { ...found, id: found.poisoned } : found.key;
    // A root key that may not see the key learns nothing about it: the error does not contain its id.
    const what = 'key with this secret';
    requireOn(actor, 'api.read_key', key?.apiId ?? '', what, null);
    if (key === null) throw notFound(what, null);
    return this.get(actor, key.id);
  }

  async update(actor: Actor, keyId: string, patch: KeyPatch, action = 'key.update'): Promise<void> {
    const { changes, storage } = this.#context;
    await changes.apply(async () => {
      const { key: before, identity: owner } = await this.#reader.load(actor, 'api.update_key', keyId);
      // An empty patch changes nothing and writes no audit entry.
      if (Object.keys(patch).length === 0) return { change: emptyDraft(), answer: () => undefined };
      const draft = emptyDraft();
      const { externalId, mustExist = false } = patch;
      const identity = await this.#createKey.identityFor(draft, actor, {
        externalId,
        operation: 'api.update_key',
        present: before.identityId,
        mustExist,
        explains: true,
      });
      if (identity && isHolder(before)) throw planFirst(keyId);
      const identityId = identity === undefined ? before.identityId : (identity?.id ?? null);
      const plan = await planOf(storage.records, before);
      const context = {
        ...(await this.#createKey.counterContext(newAccountsNeeded(patch))),
        plan,
        planMove: before.planMove,
      };
      const { counters, accounts } = patchCounters(before, patch, context);
      draft.accounts.push(...accounts);
      await requireBalance(this.#context, patch, {
        id: before.id,
        before: heldCredits(before.credits, plan),
        after: heldCredits(counters.credits, plan),
      });
      const key: KeyRecord = {
        ...patched(before, patch),
        ...counters,
        ...(await this.#createKey.replacedGrants(draft, actor, { patch, before })),
        identityId,
        updatedAtMs: context.nowMs,
      };
      const counter = patch.remaining === undefined ? -1 : creditsIndex(draft.accounts, before, key);
      const newOwner = identity === undefined ? owner : identity;
      const facts = { before: auditedKey(before, owner), after: auditedKey(key, newOwner) };
      draft.entries.push(
        auditEntry(actor, { action, target: keyId, ...facts, counter, ids: idsAround(key, newOwner) }),
      );
      const formerDigests = await this.#reader.formerDigests(keyId);
      const words = wordChange(before, key);
      draft.writes.push({ kind: 'updateKey', key, expect: before.revision, words, formerDigests });
      if (identity && identity.id !== before.identityId) await joinIdentity(storage.records, draft, identity);
      return { change: draft, answer: () => undefined };
    });
  }

  /** Changes only the balance; null = unlimited. Adding or removing the counter itself changes the key's record. */
  async updateRemaining(actor: Actor, keyId: string, input: RemainingChange): Promise<number | null> {
    const { key } = await this.#reader.load(actor, 'api.update_key', keyId);
    // A number that is set makes a counter that came from a plan one of the key's own.
    const isOwn = key.credits !== null && !key.credits.ofPlan && !key.credits.metered;
    if (input.op === 'set' && (input.value === null || !isOwn)) {
      await this.update(actor, keyId, { remaining: input.value }, 'key.updateRemaining');
      return input.value;
    }
    return this.#changeCounter(actor, keyId, input.op === 'set' ? { set: input.value ?? 0 } : { add: signed(input) });
  }

  async list(actor: Actor, query: KeyListQuery): Promise<KeyList> {
    const { planId } = query;
    // First, so that the answer does not tell whether the api exists.
    if (planId !== null) requireOn(actor, 'plan.read_plan', planId, 'plan', planId);
    requireOn(actor, 'api.read_key', query.apiId, 'api', query.apiId);
    requireOn(actor, 'api.read_api', query.apiId, 'api', query.apiId);
    await this.#api(query.apiId);
    const byId = await this.#reader.searchById(query);
    const page = byId ?? (await this.#reader.list({ ...query, nowMs: this.#context.storage.ledger.nowMs() }));
    // A key that cannot be read is left out of the page. `get` of that key says what is wrong.
    const items = page.items.flatMap((item) => ('poisoned' in item ? [] : item));
    return { keys: await this.#reader.view(items), total: page.total, cursor: page.cursor };
  }

  async #changeCounter(
    actor: Actor,
    keyId: string,
    by: { readonly set: number } | { readonly add: number },
  ): Promise<number> {
    const { storage, refills, changes } = this.#context;
    return changes.apply(async () => {
      const { key, identity } = await this.#reader.load(actor, 'api.update_key', keyId);
      if (key.credits === null || key.credits.metered) {
        throw new AppError('BAD_REQUEST', `The key ${keyId} has no credits to change. Give it some with op "set".`);
      }
      const { account } = key.credits;
      const rules = heldRefill(key.credits, await planOf(storage.records, key));
      const plan = refills.planOrNull(rules, account, storage.ledger.nowMs());
      const change = { account, owner: keyId, expect: key.revision, refill: plan, revision: key.revision, ...by };
      const facts = { before: null, after: null, counter: 0, ids: idsAround(key, identity) };
      const entry = auditEntry(actor, { action: 'key.updateRemaining', target: keyId, ...facts });
      return {
        change: { writes: [], accounts: [change], entries: [entry] },
        answer: (done) => done.accounts[0]?.value ?? 0,
      };
    });
  }

  async #api(apiId: string): Promise<ApiRecord> {
    const api = await this.#context.storage.records.findApi(apiId);
    if (api === null) throw notFound('api', apiId);
    return api;
  }
}

/** It is on a plan itself, or is to be. */
function isHolder({ planId, planMove }: KeyRecord): boolean {
  return planId !== null || planMove !== null;
}

function planFirst(keyId: string): AppError {
  const what = `The key ${keyId} is on a plan itself, but a key of a customer uses the plan of its customer`;
  return new AppError('PRECONDITION_FAILED', `${what}. Take it off its plan first: plans.assign with planId null.`);
}

/** The search words that a key gains and loses by a change of its name or metadata. */
function wordChange(before: KeyRecord, after: KeyRecord): WordChange {
  if (before.name === after.name && before.meta === after.meta) return { removed: [], added: [] };
  const [old, now] = [searchWords(before.name, before.meta), searchWords(after.name, after.meta)];
  return { removed: old.filter((word) => !now.includes(word)), added: now.filter((word) => !old.includes(word)) };
}

function signed(input: RemainingChange & { op: 'increment' | 'decrement' }): number {
  return input.op === 'increment' ? input.value : -input.value;
}
