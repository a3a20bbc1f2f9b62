import { AppError, notFound } from '../../core/errors.ts';
import type { ApiRecord } from '../../model/apis.ts';
import type { KeyRecord } from '../../model/keys.ts';
import { searchWords } from '../../core/search.ts';
import { heldCredits, heldRefill } from '../../core/plan.ts';
import type { FilteredKeyQuery, KeyWithIdentity, PoisonedKey } from '../../storage/port/records.ts';
import type { WordChange } from '../../storage/port/writes.ts';
import { type Actor, requireOn, requireEverywhere } from './change/requireRight.ts';
import { auditEntry } from './audit.ts';
import {
  creditsIndex,
  newAccountsNeeded,
  patchCounters,
  requireBalance,
  touchAccounts,
  closeAccounts,
  retireAccounts,
  reviveAccounts,
} from './change/counters.ts';
import { auditedKey, idsAround, type KeyDetails, KeyReader, type KeyView, readable } from './readKeys.ts';
import {
  type CreatedKey,
  CreateKey,
  CreateKeys,
  type KeyPatch,
  type NewKey,
  newSecret,
  patched,
  joinIdentity,
} from './createKeys.ts';
import { emptyDraft, type Draft } from './change/applyChange.ts';
import { planOf, plansOf } from '../planOf.ts';
import type { AdminContext } from './change/adminContext.ts';
import { MAX_PERMISSIONS_PER_KEY, MAX_ROLES_PER_KEY } from '../../core/bounds.ts';
import type { Operation } from '../../core/rights.ts';
import {
  EffectivePermissions,
  isSameSet,
  type Named,
  namedOf,
  type RbacReference,
  ResolveReferences,
} from './permissions.ts';
import type { PlanRecord } from '../../model/plans.ts';
import { makeSecret, PREFIX_PATTERN, shownStart } from '../../core/secret.ts';
import { refuseTooManySecrets } from './change/formerSecrets.ts';

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

interface GrantChange {
  readonly kind: 'permissions' | 'roles';
  readonly keyId: string;
  readonly references: readonly RbacReference[];
}

type How = 'add' | 'set' | 'remove';

interface Kind {
  readonly word: string;
  readonly field: 'permissionIds' | 'roleIds';
  readonly max: number;
  readonly operations: Readonly<Record<How, readonly [Operation, ...Operation[]]>>;
}

const KINDS: Readonly<Record<GrantChange['kind'], Kind>> = {
  permissions: {
    word: 'Permissions',
    field: 'permissionIds',
    max: MAX_PERMISSIONS_PER_KEY,
    operations: {
      add: ['rbac.add_permission_to_key'],
      set: ['rbac.add_permission_to_key', 'rbac.remove_permission_from_key'],
      remove: ['rbac.remove_permission_from_key'],
    },
  },
  roles: {
    word: 'Roles',
    field: 'roleIds',
    max: MAX_ROLES_PER_KEY,
    operations: {
      add: ['rbac.add_role_to_key'],
      set: ['rbac.add_role_to_key', 'rbac.remove_role_from_key'],
      remove: ['rbac.remove_role_from_key'],
    },
  },
};

/** Changes the roles and permissions of keys. Each change answers all that the key then has, sorted by name. */
export class KeyGrants {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;
  readonly #references: ResolveReferences;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
    this.#references = new ResolveReferences(context);
  }

  add(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    return this.#change(actor, 'add', change);
  }

  set(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    return this.#change(actor, 'set', change);
  }

  /** Ignores roles and permissions that the key does not have. One that does not exist at all is an error. */
  remove(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    const references = change.references.map((reference) => ({ ...reference, create: false }));
    return this.#change(actor, 'remove', { ...change, references });
  }

  /** A call that changes nothing writes nothing: the key keeps its revision, and no audit entry is written. */
  async #change(actor: Actor, how: How, { kind, keyId, references }: GrantChange): Promise<readonly Named[]> {
    const { word, field, max, operations } = KINDS[kind];
    for (const operation of operations[how]) requireEverywhere(actor, operation);
    return this.#context.changes.apply(async () => {
      const found = await this.#reader.load(actor, 'api.update_key', keyId);
      const held = heldBy(found, kind);
      const { records, writes, entries } = await this.#references[kind](actor, references, {
        takesBroken: how === 'remove',
      });
      const wanted = combined(how, held, records);
      const answer = () => namedOf(wanted);
      if (isSameSet(held, wanted)) return { change: { writes: [], accounts: [] }, answer };
      if (wanted.length > max) throw tooMany(kind, max, wanted.length);
      const key = this.#changed(found.key, { [field]: wanted.map(({ id }) => id) });
      if (how !== 'remove') await new EffectivePermissions(this.#context.storage.records).check(key, writes);
      const entry = auditEntry(actor, {
        action: `key.${how}${word}`,
        target: keyId,
        before: { [kind]: namedOf(held) },
        after: { [kind]: namedOf(wanted) },
        ids: idsAround(key, found.identity),
      });
      const formerDigests = await this.#reader.formerDigests(keyId);
      const draft = emptyDraft();
      draft.writes.push(...writes, { kind: 'updateKey', key, expect: found.key.revision, formerDigests });
      draft.accounts.push(...touchAccounts(found.key, key.revision));
      draft.entries.push(...entries, entry);
      return { change: draft, answer };
    });
  }

  #changed(before: KeyRecord, ids: Partial<Pick<KeyRecord, 'permissionIds' | 'roleIds'>>): KeyRecord {
    return { ...before, ...ids, updatedAtMs: this.#context.storage.ledger.nowMs(), revision: before.revision + 1 };
  }
}

/** Includes roles that cannot be read, so that a change of other roles keeps them. */
function heldBy({ permissions }: KeyWithIdentity, kind: GrantChange['kind']): readonly Named[] {
  if (permissions === null) return [];
  return kind === 'permissions' ? permissions.direct : [...permissions.roles, ...(permissions.broken ?? [])];
}

/** `held` contains only what still exists, so ids of deleted roles and permissions are not written again. */
function combined(how: How, held: readonly Named[], named: readonly Named[]): readonly Named[] {
  if (how === 'set') return named;
  const ids = new Set(named.map(({ id }) => id));
  const others = held.filter(({ id }) => !ids.has(id));
  return how === 'add' ? [...others, ...named] : others;
}

function tooMany(kind: string, max: number, count: number): AppError {
  return new AppError('PRECONDITION_FAILED', `A key can have at most ${max} ${kind}; this would make it ${count}.`);
}

type Found = KeyWithIdentity | PoisonedKey;

/** Deletes and restores keys. */
export class DeleteKey {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
  }

  async delete(actor: Actor, keyId: string, permanent: boolean): Promise<void> {
    await this.#context.changes.apply(async () => {
      // A softly deleted key can still be removed for good.
      const found = permanent
        ? await this.#reader.findAny(actor, 'api.delete_key', keyId)
        : await this.#reader.find(actor, 'api.delete_key', keyId);
      const draft = emptyDraft();
      const facts = 'poisoned' in found ? {} : auditedKey(found.key, found.identity);
      if (permanent) await this.#draftRemoval(draft, found);
      else await this.#draftDeletion(draft, readable(found));
      draft.entries.push(
        auditEntry(actor, {
          action: 'key.delete',
          target: keyId,
          before: facts,
          after: { permanent },
          isWhole: true,
          ids: 'poisoned' in found ? { apiId: found.apiId } : idsAround(found.key, found.identity),
        }),
      );
      return { change: draft, answer: () => undefined };
    });
  }

  /** Restores a softly deleted key as it was. Boundaries that passed meanwhile refill it. */
  async restore(actor: Actor, keyId: string): Promise<void> {
    const { changes, storage, refills, quotas } = this.#context;
    await quotas.creating('keys', 1, (keepQuota) =>
      changes.apply(async () => {
        const { key: before, identity } = readable(await this.#reader.findAny(actor, 'api.update_key', keyId));
        const api = await storage.records.findApi(before.apiId);
        // A key that a deletion of all keys removes for good counts as gone, although its row may still exist.
        if (api === null || before.generation < api.purgesBelow) throw notFound('key', keyId);
        if (before.deletedAtMs === null && before.generation === api.generation) {
          throw new AppError('PRECONDITION_FAILED', `The key ${keyId} is not deleted.`);
        }
        if (before.identityId !== null && identity === null) {
          throw new AppError('PRECONDITION_FAILED', `The customer of the key ${keyId} was deleted. Create a new key.`);
        }
        const draft = emptyDraft();
        const nowMs = storage.ledger.nowMs();
        const revision = before.revision + 1;
        const key: KeyRecord = {
          ...before,
          generation: api.generation,
          deletedAtMs: null,
          updatedAtMs: nowMs,
          revision,
        };
        const formerDigests = await this.#reader.formerDigests(keyId);
        draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
        if (identity !== null) await joinIdentity(storage.records, draft, identity);
        const plan = await this.#joinPlans(draft, before);
        draft.accounts.push(...reviveAccounts(before, revision, { refills, nowMs, plan }));
        const facts = { before: null, after: auditedKey(key, identity), ids: idsAround(key, identity) };
        draft.entries.push(auditEntry(actor, { action: 'key.restore', target: keyId, ...facts }));
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => undefined };
      }),
    );
  }

  /** A deleted key holds no plan: its plan may be gone. Answers the plan that it is on; null = none. */
  async #joinPlans(draft: Draft, { id, planId, planMove }: KeyRecord): Promise<PlanRecord | null> {
    const wanted = [...new Set([planId ?? [], planMove?.planId ?? []].flat())];
    const plans = await plansOf(
      this.#context.storage.records,
      wanted.map((each) => ({ planId: each })),
    );
    for (const each of wanted) {
      const plan = plans.get(each);
      if (plan === undefined) {
        throw new AppError('PRECONDITION_FAILED', `The plan ${each} of the key ${id} was deleted. Create a new key.`);
      }
      draft.writes.push({ kind: 'joinPlan', planId: each, expect: plan.revision });
    }
    return plans.get(planId ?? '') ?? null;
  }

  async #draftDeletion(draft: Draft, { key: before }: KeyWithIdentity): Promise<void> {
    const nowMs = this.#context.storage.ledger.nowMs();
    const revision = before.revision + 1;
    const key: KeyRecord = { ...before, deletedAtMs: nowMs, updatedAtMs: nowMs, revision };
    const formerDigests = await this.#reader.formerDigests(before.id);
    draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
    draft.accounts.push(...retireAccounts(before, revision));
  }

  /** A key that cannot be read can still be removed. Its accounts are unknown and stay in the ledger, where nothing names them. */
  async #draftRemoval(draft: Draft, found: Found): Promise<void> {
    if ('poisoned' in found) {
      const { poisoned: id, apiId, revision: expect, secretDigest } = found;
      const digests = [secretDigest, ...(await this.#reader.formerDigests(id))];
      draft.writes.push({ kind: 'removeKey', key: { id, apiId }, expect, digests });
      return;
    }
    const { key } = found;
    const digests = [key.secretDigest, ...(await this.#reader.formerDigests(key.id))];
    const words = searchWords(key.name, key.meta);
    draft.writes.push({ kind: 'removeKey', key, expect: key.revision, words, digests });
    draft.accounts.push(...closeAccounts(key));
  }
}

/** Random bytes of a rotated secret when neither the key nor its api says how many. */
const SECRET_BYTES = 16;

/** Gives keys another secret. */
export class RotateKey {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
  }

  /** Gives the key another secret. The old secret stays valid for `overlapMs`; 0 ends all former secrets at once. */
  async rotate(actor: Actor, keyId: string, overlapMs: number): Promise<string> {
    const { changes, storage, system } = this.#context;
    return changes.apply(async () => {
      await this.#reader.find(actor, 'api.create_key', keyId);
      const { key: before, identity } = await this.#reader.load(actor, 'api.update_key', keyId);
      const nowMs = storage.ledger.nowMs();
      const former = await storage.records.listFormerSecrets([keyId]);
      if (overlapMs > 0) refuseTooManySecrets(former, `key ${keyId}`, nowMs);
      const api = await storage.records.findApi(before.apiId);
      const prefix = prefixOf(before.start) ?? api?.defaultPrefix ?? null;
      const byteLength = before.byteLength ?? api?.defaultByteLength ?? SECRET_BYTES;
      const secret = makeSecret(prefix, system.randomBytes(byteLength));
      const revision = before.revision + 1;
      const key: KeyRecord = {
        ...before,
        secretDigest: system.digestSecret(secret),
        start: shownStart(prefix, secret),
        byteLength,
        updatedAtMs: nowMs,
        revision,
      };
      const formerDigests = [before.secretDigest, ...former.map(({ digest }) => digest)];
      const draft = emptyDraft();
      draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
      draft.accounts.push(...touchAccounts(before, revision));
      const secretUntilNow = { digest: before.secretDigest, owner: keyId, untilMs: nowMs + overlapMs };
      draft.writes.push(
        overlapMs > 0 ? { kind: 'insertSecret', secret: secretUntilNow } : { kind: 'endSecrets', owner: keyId },
      );
      const after = { start: key.start, overlapMs };
      const ids = idsAround(key, identity);
      draft.entries.push(
        auditEntry(actor, { action: 'key.rotate', target: keyId, before: { start: before.start }, after, ids }),
      );
      return { change: draft, answer: () => secret };
    });
  }
}

/** The prefix in `start`, before the shown characters of the random part. An imported key may begin with anything: then null. */
function prefixOf(start: string): string | null {
  const prefix = start.slice(0, Math.max(0, start.lastIndexOf('_')));
  return new RegExp(PREFIX_PATTERN).test(prefix) ? prefix : null;
}
