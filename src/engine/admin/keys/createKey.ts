import { alertsWithoutCredits, patchedAlerts, requireThreshold } from '../../../core/alerts.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { BLANK_KEY } from '../../../model/keys.ts';
import { DEFAULT_LIMIT_NAME } from '../../../core/records.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import { KEY_PLAIN, type KeyRecord } from '../../../model/keys.ts';
import { plainOf } from '../../../model/plain.ts';
import type { OwnerOperation } from '../../../core/rights.ts';
import { searchWords } from '../../../core/search.ts';
import type { Draft } from '../change/draft.ts';
import { requireEverywhere, requireOwner } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { type CounterContext, newAccountsNeeded, patchCounters } from '../change/counters.ts';
import { NewIdentities } from './newIdentities.ts';
import { EffectivePermissions } from '../rbac/effectivePermissions.ts';
import { auditedKey, idsAround } from './auditedKey.ts';
import type { KeySecret } from './newSecret.ts';
import { joinIdentity } from './joinIdentity.ts';
import type { KeyPatch } from './keyInput.ts';
import type { LimitInput } from '../../../core/counterPatch.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { type KnownReferences, type OrFail, ResolveReferences } from '../rbac/resolveReferences.ts';

/** The owner that a request names for a key, by `externalId`. */
export interface NamedOwner {
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
export interface DraftedTogether {
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

export function withDefaults<P extends KeyPatch>(patch: P, { defaultLimit }: ApiRecord): P {
  if (defaultLimit === null || patch.defaultLimit !== undefined) return patch;
  const limit: LimitInput = { name: DEFAULT_LIMIT_NAME, ...defaultLimit };
  return { ...patch, defaultLimit: limit };
}
