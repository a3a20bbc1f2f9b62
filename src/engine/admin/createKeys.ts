import { type AlertsPatch, alertsWithoutCredits, patchedAlerts, requireThreshold } from '../../core/alerts.ts';
import { MAX_ISSUES, MIN_KEY_BYTES } from '../../core/bounds.ts';
import type { CounterPatch, LimitInput } from '../../core/counterPatch.ts';
import { AppError, type ErrorCode, notFound, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { heldMaxKeys } from '../../core/plan.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { type OwnerOperation, holdsRight } from '../../core/rights.ts';
import { searchWords, identityWords } from '../../core/search.ts';
import { makeSecret, shownStart } from '../../core/secret.ts';
import { auditEntry } from './audit.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type Draft, emptyDraft } from './change/applyChange.ts';
import { type CounterContext, newAccountsNeeded, patchCounters, openedByPlan } from './change/counters.ts';
import { type Actor, requireEverywhere, requireOn, requireOwner } from './change/requireRight.ts';
import { auditedKey, idsAround } from './readKeys.ts';
import {
  EffectivePermissions,
  type KnownReferences,
  type NamedGrants,
  type OrFail,
  ResolveReferences,
} from './permissions.ts';
import { plansOf, planOf } from '../planOf.ts';
import type { System } from '../platform.ts';
import type { ApiRecord } from '../../model/apis.ts';
import { type IdentityRecord, BLANK_IDENTITY } from '../../model/identities.ts';
import { BLANK_KEY, KEY_PLAIN, type KeyRecord } from '../../model/keys.ts';
import { plainOf } from '../../model/plainFields.ts';
import type { Records } from '../../storage/port/records.ts';
import { nearestWord } from '../../basics/nearestName.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';

/** The owner that a request names for a key, by `externalId`. */
interface NamedOwner {
  readonly externalId: string | null | undefined;
  readonly operation: OwnerOperation;
  /** Id of the identity that the key belongs to now; null = none. */
  readonly present: string | null;
  /** An identity that there is not is refused, and not created. */
  readonly mustExist: boolean;
  /** The refusal names an identity that may be meant. */
  readonly explains: boolean;
}

/** What was found or reserved for several keys at once. */
interface DraftedTogether {
  /** The identity with this `externalId`. Throws when the actor may not name it. Its keys join it later, all at once. */
  ownerOf(externalId: string | null | undefined): IdentityRecord | null;
  /** Takes numbers for new accounts. */
  takeAccounts(count: number): number[];
}

type GrantIds = Pick<KeyRecord, 'roleIds' | 'permissionIds'>;

interface GrantInput {
  readonly patch: KeyPatch;
  readonly before: GrantIds;
  readonly orFail?: OrFail;
  /** Roles and permissions that were read for several keys at once. */
  readonly known?: KnownReferences;
}

/** Drafts the records of new keys, and of the identities, roles and permissions that are created with them. */
export class CreateKey {
  readonly #context: AdminContext;
  readonly #references: ResolveReferences;
  readonly #newIdentities: NewIdentities;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#references = new ResolveReferences(context);
    this.#newIdentities = new NewIdentities(context);
  }

  /** Adds a key to a draft. The roles and permissions of an imported key must exist. */
  async draftKey(
    draft: Draft,
    actor: Actor,
    api: ApiRecord,
    input: KeyPatch & { secret: KeySecret; orFail?: OrFail; known?: KnownReferences; together?: DraftedTogether },
  ): Promise<KeyRecord> {
    const { storage, system } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const patch = withDefaults(input, api);
    const { externalId, mustExist = false } = patch;
    const owner = { externalId, operation: 'api.create_key', present: null, mustExist, explains: true } as const;
    const { together } = input;
    const identity =
      together === undefined ? await this.identityFor(draft, actor, owner) : together.ownerOf(patch.externalId);
    const needed = newAccountsNeeded(patch);
    const context =
      together === undefined ? await this.counterContext(needed) : this.#contextWith(together.takeAccounts(needed));
    requireThreshold(patch.alerts, patch.remaining ?? null);
    const { counters, accounts } = patchCounters({ id: '', credits: null, limits: [], revision: 0 }, patch, context);
    const key: KeyRecord = {
      ...patched(BLANK_KEY, patch),
      ...counters,
      ...(await this.#grants(draft, actor, { ...input, patch, before: BLANK_KEY })),
      id: makeId('key', nowMs, system.randomBytes(ID_RANDOM_BYTES)),
      apiId: api.id,
      generation: api.generation,
      identityId: identity?.id ?? null,
      secretDigest: input.secret.digest,
      start: input.secret.start,
      byteLength: input.secret.byteLength,
      createdAtMs: nowMs,
    };
    draft.writes.push({ kind: 'insertKey', key, words: searchWords(key.name, key.meta) });
    if (identity && together === undefined) await joinIdentity(storage.records, draft, identity);
    draft.accounts.push(...accounts);
    const after = {
      ...auditedKey(key, identity ?? null),
      ...(patch.remaining == null ? {} : { remaining: patch.remaining }),
    };
    const ids = idsAround(key, identity ?? null);
    draft.entries.push(auditEntry(actor, { action: 'key.create', target: key.id, before: null, after, ids }));
    return key;
  }

  /** Reads the roles and permissions that keys name, once for all keys that are created together. */
  readNamed(patches: readonly KeyPatch[]): Promise<KnownReferences> {
    return this.#references.read(patches);
  }

  /** The ids of roles and permissions that replace the present ones. Replacing also needs the right to remove. */
  replacedGrants(
    draft: Draft,
    actor: Actor,
    { patch, before }: { patch: KeyPatch; before: GrantIds },
  ): Promise<Partial<GrantIds>> {
    if (patch.roles !== undefined) requireEverywhere(actor, 'rbac.remove_role_from_key');
    if (patch.permissions !== undefined) requireEverywhere(actor, 'rbac.remove_permission_from_key');
    return this.#grants(draft, actor, { patch, before });
  }

  /** The ids of the roles and permissions that a patch names. A field that it does not name is left out. */
  async #grants(
    draft: Draft,
    actor: Actor,
    { patch: { roles, permissions }, before, orFail, known }: GrantInput,
  ): Promise<Partial<GrantIds>> {
    if (roles != null && roles.length > 0) requireEverywhere(actor, 'rbac.add_role_to_key');
    if (permissions != null && permissions.length > 0) requireEverywhere(actor, 'rbac.add_permission_to_key');
    if (roles === undefined && permissions === undefined) return {};
    const resolving = { orFail: orFail ?? 'NOT_FOUND', known: known ?? null };
    const ofRoles = roles === undefined ? null : await this.#references.roles(actor, roles ?? [], resolving);
    const ofPermissions =
      permissions === undefined ? null : await this.#references.permissions(actor, permissions ?? [], resolving);
    for (const resolved of [ofRoles, ofPermissions]) {
      draft.writes.push(...(resolved?.writes ?? []));
      draft.entries.push(...(resolved?.entries ?? []));
    }
    const ids = {
      ...(ofRoles === null ? {} : { roleIds: ofRoles.records.map(({ id }) => id) }),
      ...(ofPermissions === null ? {} : { permissionIds: ofPermissions.records.map(({ id }) => id) }),
    };
    const effective = known?.effective ?? new EffectivePermissions(this.#context.storage.records);
    effective.learn(ofRoles?.records ?? []);
    await effective.check({ ...before, ...ids }, draft.writes);
    return ids;
  }

  /**
   * The identity with this `externalId`, drafted when there is none yet. null = no owner; undefined = the request names none. Naming
   * the present owner of a key gives it nothing new, and needs no right.
   */
  async identityFor(
    draft: Draft,
    actor: Actor,
    { externalId, ...named }: NamedOwner,
  ): Promise<IdentityRecord | null | undefined> {
    if (externalId === undefined || externalId === null) return externalId;
    const drafted = draft.writes.find(
      (write) => write.kind === 'insertIdentity' && write.identity.externalId === externalId,
    );
    if (drafted?.kind === 'insertIdentity') return drafted.identity;
    const known = await this.#context.storage.records.findIdentity(externalId);
    return this.foundOrDrafted(draft, actor, { externalId, ...named }, known);
  }

  /** The identity that was found, if the actor may name it as the owner of a key. null = there is none: it is drafted. */
  async foundOrDrafted(
    draft: Draft,
    actor: Actor,
    { externalId, operation, present, mustExist, explains }: NamedOwner & { readonly externalId: string },
    known: IdentityRecord | null,
  ): Promise<IdentityRecord> {
    if (known === null || known.id !== present) requireOwner(actor, operation, known?.id ?? null);
    if (known !== null) return known;
    if (mustExist || this.#context.newIdentities.mustExist)
      throw await this.#newIdentities.unknown(actor, externalId, explains);
    return this.#newIdentities.draftOwner(draft, actor, externalId);
  }

  async counterContext(newAccounts: number): Promise<CounterContext> {
    return this.#contextWith([...(await this.#context.storage.ledger.reserveAccounts(newAccounts))]);
  }

  #contextWith(freeAccounts: number[]): CounterContext {
    const { storage, refills, defaultTimezone } = this.#context;
    return { refills, nowMs: storage.ledger.nowMs(), defaultTimezone, freeAccounts };
  }
}

/** The key after a patch, without counters, owner, roles and permissions. */
export function patched(before: KeyRecord, patch: KeyPatch): KeyRecord {
  return {
    ...before,
    ...plainOf(KEY_PLAIN, patch),
    expiresAtMs: patch.expiresAtMs === undefined ? before.expiresAtMs : patch.expiresAtMs,
    ipAllowlist: patch.ipAllowlist === undefined ? before.ipAllowlist : (patch.ipAllowlist ?? []),
    alerts: patchedAlerts(patch.remaining === null ? alertsWithoutCredits(before.alerts) : before.alerts, patch.alerts),
    // Another expiry is told of anew.
    toldExpiryMs: isSameExpiry(before, patch) ? before.toldExpiryMs : null,
  };
}

function isSameExpiry({ expiresAtMs }: KeyRecord, patch: KeyPatch): boolean {
  return patch.expiresAtMs === undefined || patch.expiresAtMs === expiresAtMs;
}

function withDefaults<P extends KeyPatch>(patch: P, { defaultLimit }: ApiRecord): P {
  if (defaultLimit === null || patch.defaultLimit !== undefined) return patch;
  const limit: LimitInput = { name: DEFAULT_LIMIT_NAME, ...defaultLimit };
  return { ...patch, defaultLimit: limit };
}

/** With so many problems, the other keys are not looked at. */
const MAX_PROBLEMS = 10;
/** The name of the list in messages. */
const LIST = 'keys';

export interface CreatedKey {
  readonly keyId: string;
  readonly secret: string;
}

/** Creates many keys in one transaction: all of them, or none. What several keys name is read once. */
export class CreateKeys {
  readonly #context: AdminContext;
  readonly #createKey: CreateKey;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#createKey = new CreateKey(context);
  }

  /** Answers the keys in the order of the inputs. Their secrets are shown this once. */
  async create(actor: Actor, inputs: readonly NewKey[]): Promise<readonly CreatedKey[]> {
    const { changes, quotas } = this.#context;
    await this.#refuseHidden(actor, inputs);
    return quotas.creating('keys', inputs.length, (keepQuota) =>
      changes.apply(async () => {
        const draft = emptyDraft();
        const created = await this.#draft(draft, actor, inputs);
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => created };
      }),
    );
  }

  async #refuseHidden(actor: Actor, inputs: readonly NewKey[]): Promise<void> {
    const problems: KeyProblem[] = [];
    for (const [index, { apiId }] of inputs.entries()) {
      if (problems.length >= MAX_PROBLEMS) break;
      await orProblem(problems, index, () => requireOn(actor, 'api.create_key', apiId, 'api', apiId));
    }
    if (problems.length > 0) throw asOneError(problems, LIST);
  }

  async #draft(draft: Draft, actor: Actor, inputs: readonly NewKey[]): Promise<CreatedKey[]> {
    const { records, ledger } = this.#context.storage;
    const apis = await this.#findApis(inputs);
    const known = await this.#createKey.readNamed(inputs);
    const owners = await KeyOwners.find(inputs, { records, createKey: this.#createKey, draft, actor });
    const accounts = [...(await ledger.reserveAccounts(accountsNeeded(inputs, apis)))];
    const together = {
      ownerOf: (externalId: string | null | undefined) => owners.ownerOf(externalId),
      takeAccounts: (count: number) => accounts.splice(accounts.length - count),
    };
    const created: CreatedKey[] = [];
    const problems: KeyProblem[] = [];
    await this.#context.turns.each(actor.id, inputs, async (input, index) => {
      await orProblem(problems, index, async () => {
        const api = apis.get(input.apiId);
        if (api === undefined) throw notFound('api', input.apiId);
        const { secret, stored } = newSecret(this.#context.system, api, input);
        const fields = { ...input, secret: stored, known, together };
        const { id: keyId, identityId } = await this.#createKey.draftKey(draft, actor, api, fields);
        owners.note(identityId, index);
        created.push({ keyId, secret });
      });
      return problems.length < MAX_PROBLEMS;
    });
    if (problems.length === 0) problems.push(...(await owners.join(records, draft)));
    if (problems.length > 0) throw asOneError(problems, LIST);
    return created;
  }

  async #findApis(inputs: readonly NewKey[]): Promise<Map<string, ApiRecord>> {
    const named = [...new Set(inputs.map(({ apiId }) => apiId))];
    const found = await this.#context.storage.records.findApis(named);
    return new Map(found.map((api) => [api.id, api]));
  }
}

/** The most accounts that the keys can open, with what their apis give them. */
function accountsNeeded(inputs: readonly NewKey[], apis: ReadonlyMap<string, ApiRecord>): number {
  return inputs.reduce((sum, input) => {
    const api = apis.get(input.apiId);
    return sum + (api === undefined ? 0 : newAccountsNeeded(withDefaults(input, api)));
  }, 0);
}

/** The fields of a key that a caller may set. On creation, null and absent mean the same. On update, null clears and absent keeps. */
export interface KeyPatch extends CounterPatch, NamedGrants, Partial<Pick<KeyRecord, keyof typeof KEY_PLAIN>> {
  readonly externalId?: string | null;
  /** With an `externalId`: it is that of an identity that exists. */
  readonly mustExist?: boolean;
  readonly expiresAtMs?: number | null;
  readonly ipAllowlist?: readonly string[] | null;
  readonly alerts?: AlertsPatch | null;
}

export interface NewKey extends KeyPatch {
  readonly apiId: string;
  /** null = the default of the api. */
  readonly prefix: string | null;
  readonly byteLength: number | null;
}

/** The owners that keys of one call name. Each is found or drafted once, and joined once. */
class KeyOwners {
  /** By `externalId`: the identity, or why the actor may not name it. */
  readonly #owners: ReadonlyMap<string, IdentityRecord | AppError>;
  /** By id: the indexes of the new keys. */
  readonly #joining = new Map<string, number[]>();
  readonly #byId: ReadonlyMap<string, IdentityRecord>;
  /** Ids of those that exist already. Nobody else knows the others. */
  readonly #existing: ReadonlySet<string>;

  private constructor(owners: ReadonlyMap<string, IdentityRecord | AppError>, existing: readonly IdentityRecord[]) {
    const identities = [...owners.values()].flatMap((owner) => (owner instanceof AppError ? [] : owner));
    this.#owners = owners;
    this.#byId = new Map(identities.map((identity) => [identity.id, identity]));
    this.#existing = new Set(existing.map(({ id }) => id));
  }

  static async find(
    keys: readonly KeyPatch[],
    { records, createKey, draft, actor }: { records: Records; createKey: CreateKey; draft: Draft; actor: Actor },
  ): Promise<KeyOwners> {
    const named = [...new Set(keys.flatMap(({ externalId }) => externalId ?? []))];
    const mustExist = new Set(keys.flatMap((key) => (key.mustExist === true ? (key.externalId ?? []) : [])));
    const existing = await records.findIdentities(named);
    const found = new Map(existing.map((identity) => [identity.externalId, identity]));
    const owners = new Map<string, IdentityRecord | AppError>();
    let refused = 0;
    for (const externalId of named) {
      const owner = {
        externalId,
        operation: 'api.create_key',
        present: null,
        mustExist: mustExist.has(externalId),
        explains: refused < MAX_ISSUES,
      } as const;
      try {
        owners.set(externalId, await createKey.foundOrDrafted(draft, actor, owner, found.get(externalId) ?? null));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        owners.set(externalId, error);
        refused++;
      }
    }
    return new KeyOwners(owners, existing);
  }

  /** Throws when the actor may not name this owner. */
  ownerOf(externalId: string | null | undefined): IdentityRecord | null {
    const owner = this.#owners.get(externalId ?? '') ?? null;
    if (owner instanceof AppError) throw owner;
    return owner;
  }

  /** The key with this index was drafted for the identity. */
  note(identityId: string | null, index: number): void {
    if (identityId === null) return;
    const indexes = this.#joining.get(identityId);
    if (indexes === undefined) this.#joining.set(identityId, [index]);
    else indexes.push(index);
  }

  /** Drafts the joins, and answers the first key of each identity that would be one too many. */
  async join(records: Records, draft: Draft): Promise<KeyProblem[]> {
    const plans = await plansOf(records, [...this.#byId.values()]);
    const joining = [...this.#joining].map(([id, indexes]) => {
      const identity = this.#byId.get(id) as IdentityRecord;
      return { identity, indexes, maxKeys: heldMaxKeys(identity, plans.get(identity.planId ?? '') ?? null) };
    });
    const known = joining.filter(({ identity }) => this.#existing.has(identity.id));
    draft.writes.push(...known.map(({ identity, maxKeys }) => joinOf(identity, maxKeys)));
    const bounded = joining.flatMap(({ maxKeys, ...each }) => (maxKeys === null ? [] : { ...each, maxKeys }));
    const counts = await records.countKeysOfIdentities(bounded.map(({ identity }) => identity.id));
    return bounded.flatMap(({ identity, indexes, maxKeys }, i) => {
      const count = counts[i] ?? 0;
      const index = indexes[Math.max(0, maxKeys - count)];
      const error = () => tooManyKeys(identity, { maxKeys, count, more: indexes.length });
      return index === undefined ? [] : [{ index, error: error() }];
    });
  }
}

/** Problems that the message of an error names. `issues` has all of them. */
const MAX_IN_MESSAGE = 10;

/** Why one of several keys cannot be created. */
export interface KeyProblem {
  readonly index: number;
  readonly error: AppError;
}

/** One error for several problems: the code of the first, and all problems with the same code. `list`: the name of the list of keys. */
export function asOneError(problems: readonly KeyProblem[], list = ''): AppError {
  const code: ErrorCode = problems[0]?.error.code ?? 'BAD_REQUEST';
  const issues = problems
    .filter(({ error }) => error.code === code)
    .map(({ index, error }) => {
      const field = error.issues?.[0]?.path;
      return { path: `${list}[${index}]${field === undefined ? '' : `.${field}`}`, message: error.message };
    });
  const shown = issues.slice(0, MAX_IN_MESSAGE).map(({ path, message }) => `${path}: ${message}`);
  const more = issues.length > shown.length ? [`And ${issues.length - shown.length} more.`] : [];
  return new AppError(code, [...shown, ...more].join(' '), issues);
}

/** Runs `work`, and adds what it refuses to the problems. Answers null then. A right that is lacking is no problem of one key. */
async function orProblem<T>(problems: KeyProblem[], index: number, work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'INSUFFICIENT_PERMISSIONS') throw error;
    problems.push({ index, error });
    return null;
  }
}

export interface KeySecret {
  readonly digest: string;
  readonly start: string;
  /** null = the secret was made elsewhere. */
  readonly byteLength: number | null;
}

/** A secret as the request or the api of the key wants it, and what is stored of it. */
export function newSecret(
  system: System,
  api: ApiRecord,
  asked: { readonly prefix: string | null; readonly byteLength: number | null },
): { secret: string; stored: KeySecret } {
  const prefix = asked.prefix ?? api.defaultPrefix;
  const byteLength = byteLengthFor(api, asked.byteLength);
  const secret = makeSecret(prefix, system.randomBytes(byteLength));
  return { secret, stored: { digest: system.digestSecret(secret), start: shownStart(prefix, secret), byteLength } };
}

function byteLengthFor(api: ApiRecord, asked: number | null): number {
  return asked ?? api.defaultByteLength ?? MIN_KEY_BYTES;
}

/** Identities on each side of a name that are looked at for one that was meant. */
const NEIGHBOURS = 50;
/** For a longer name, none is looked for: there are many names near to it, and comparing them takes long. */
const MAX_NEAR_LENGTH = 64;

/** Makes identities: by themselves, and for keys whose owner is new. */
export class NewIdentities {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** Drafts the owner that a key names for the first time. Its keys are unlimited, unless the default plan says otherwise. */
  async draftOwner(draft: Draft, actor: Actor, externalId: string): Promise<IdentityRecord> {
    const { storage, system } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const id = makeId('id', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const blank: IdentityRecord = { ...BLANK_IDENTITY, id, externalId, createdAtMs: nowMs };
    const identity = await this.onPlan(draft, blank, await this.defaultPlan());
    draft.writes.push({ kind: 'insertIdentity', identity, words: identityWords(identity) });
    const after = { externalId, meta: {}, ...(identity.planId === null ? {} : { planId: identity.planId }) };
    const ids = { externalId };
    draft.entries.push(auditEntry(actor, { action: 'identity.create', target: id, before: null, after, ids }));
    return identity;
  }

  /** The plan that KEYSTILE_DEFAULT_PLAN names; null = none is configured. A plan that is missing gives no customer unlimited keys. */
  async defaultPlan(): Promise<PlanRecord | null> {
    const { defaultPlan: named } = this.#context.newIdentities;
    if (named === null) return null;
    const plan = await this.#findPlan(named);
    if (plan !== null) return plan;
    const what = `KEYSTILE_DEFAULT_PLAN names the plan ${repeatable(named)}, which does not exist`;
    throw new AppError('PRECONDITION_FAILED', `${what}. Create that plan, or correct the setting.`);
  }

  /** There is the plan that KEYSTILE_DEFAULT_PLAN names, or the setting names none. */
  async hasDefaultPlan(): Promise<boolean> {
    const { defaultPlan: named } = this.#context.newIdentities;
    return named === null || (await this.#findPlan(named)) !== null;
  }

  /** By its id, or else by its name. */
  async #findPlan(named: string): Promise<PlanRecord | null> {
    const { records } = this.#context.storage;
    return (await records.findPlan(named)) ?? records.findPlanByName(named);
  }

  /** The identity that is about to be inserted, on this plan, with the credits of the plan unless it has its own. */
  async onPlan(draft: Draft, identity: IdentityRecord, plan: PlanRecord | null): Promise<IdentityRecord> {
    if (plan === null) return identity;
    const isJoined = draft.writes.some((write) => write.kind === 'joinPlan' && write.planId === plan.id);
    if (!isJoined) draft.writes.push({ kind: 'joinPlan', planId: plan.id, expect: plan.revision });
    const onIt = { ...identity, planId: plan.id, revision: 1 };
    if (identity.credits !== null) return onIt;
    const { ledger } = this.#context.storage;
    const opened = openedByPlan(plan, { id: identity.id, revision: 0 }, ledger.nowMs());
    if (opened === null) return onIt;
    const { credits, account } = opened((await ledger.reserveAccounts(1))[0] ?? 0);
    draft.accounts.push(account);
    return { ...onIt, credits };
  }

  /** There is no identity of this name, and none is to be made. `explains`: names one that is near to whoever may read it. */
  async unknown(actor: Actor, externalId: string, explains: boolean): Promise<AppError> {
    const near = explains && externalId.length <= MAX_NEAR_LENGTH ? await this.#near(actor, externalId) : null;
    const hint = near === null ? '' : ` Did you mean ${repeatable(near)}?`;
    const rule = this.#context.newIdentities.mustExist ? 'KEYSTILE_IDENTITIES_MUST_EXIST' : 'mustExist';
    const unknown = `There is no customer with the externalId ${repeatable(externalId)}.${hint}`;
    const message = `${unknown} With ${rule}, a new key creates no customer: use identities.createIdentity.`;
    return new AppError('NOT_FOUND', message, [{ path: 'externalId', message }]);
  }

  async #near(actor: Actor, externalId: string): Promise<string | null> {
    const { records } = this.#context.storage;
    const found = [
      ...(await records.findIdentities(misspelledFrom(externalId))),
      ...(await records.listNeighbours(externalId, NEIGHBOURS)),
    ];
    const readable = found.filter(({ id }) => holdsRight(actor.rights, 'identity.read_identity', id));
    return nearestWord(
      externalId,
      readable.map((identity) => identity.externalId),
    );
  }
}

/** The text with one character less, two of them swapped, or in lower case. What is near to it otherwise is mostly its neighbour. */
function misspelledFrom(text: string): string[] {
  const less = Array.from(text, (_, i) => text.slice(0, i) + text.slice(i + 1));
  const swapped = Array.from(
    text.slice(1),
    (next, i) => `${text.slice(0, i)}${next}${text.charAt(i)}${text.slice(i + 2)}`,
  );
  return [...new Set([...less, ...swapped, text.toLowerCase()])].filter(
    (each) => each !== '' && each !== text && each.isWellFormed(),
  );
}

/**
 * After a key of this identity was drafted: refuses it when the identity has as many keys as it may have. The change does so again when it
 * is carried out, because other keys may join at the same time.
 */
export async function joinIdentity(records: Records, draft: Draft, identity: IdentityRecord): Promise<void> {
  const { id } = identity;
  const maxKeys = heldMaxKeys(identity, await planOf(records, identity));
  if (maxKeys !== null) await requireSpace(records, draft, identity, maxKeys);
  // Nobody else knows an identity that this change creates.
  const isNew = draft.writes.some((write) => write.kind === 'insertIdentity' && write.identity.id === id);
  if (!isNew) draft.writes.push(joinOf(identity, maxKeys));
}

/** `maxKeys`: its own bound or that of its plan. */
function joinOf({ id, revision: expect }: IdentityRecord, maxKeys: number | null): RecordWrite {
  return { kind: 'joinIdentity', identityId: id, expect, maxKeys };
}

async function requireSpace(
  records: Records,
  { writes }: Draft,
  identity: IdentityRecord,
  maxKeys: number,
): Promise<void> {
  const { id } = identity;
  const [count = 0] = await records.countKeysOfIdentities([id]);
  const drafted = writes.filter(
    (write) => (write.kind === 'insertKey' || write.kind === 'updateKey') && write.key.identityId === id,
  );
  if (count + drafted.length <= maxKeys) return;
  throw tooManyKeys(identity, { maxKeys, count, more: drafted.length });
}

function tooManyKeys(
  { externalId }: IdentityRecord,
  { maxKeys, count, more }: { maxKeys: number; count: number; more: number },
): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `The customer ${repeatable(externalId)} already has ${count} of ${maxKeys} keys; ${more} more would be too many. Delete unused keys, or raise maxKeys.`,
  );
}
