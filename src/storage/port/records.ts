import type { SessionRecord } from '../../core/records.ts';
import type { PermissionRecord, RoleRecord, RootKeyRecord } from '../../model/access.ts';
import type { ApiRecord } from '../../model/apis.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { KeyRecord } from '../../model/keys.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { PortalSessionRecord } from '../../core/portalSession.ts';
import type { Grant } from '../../core/permissions.ts';
import type { EntryQuery, StoredEntry } from './auditEntries.ts';

/** A key with the records that its verification needs. */
export interface KeyWithIdentity {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  /** Roles and permissions of the key that still exist; null = none. */
  readonly permissions: KeyPermissions | null;
  /** If the key was found by a former secret: until when that is valid. null = it was found by its present secret. */
  readonly secretUntilMs: number | null;
}

/** The roles and permissions of a key. */
export interface KeyPermissions {
  readonly roles: readonly { readonly id: string; readonly name: string }[];
  /** Permissions that the key has itself, not through a role. */
  readonly direct: readonly { readonly id: string; readonly name: string; readonly slug: string }[];
  /** All permissions, direct and through roles, each slug once, sorted by slug. */
  readonly grants: readonly Grant[];
  /** Roles of the key whose permissions cannot be read. They are not in `roles`. Absent = none. */
  readonly broken?: readonly BrokenRole[];
}

/** A plan with the roles and permissions that it gives. */
export interface PlanWithPermissions {
  readonly plan: PlanRecord;
  readonly permissions: KeyPermissions | null;
}

/** A role whose permissions cannot be read. A key with it can be changed and deleted, but its verification fails. */
interface BrokenRole {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

export interface FoundRole extends RoleRecord {
  /** Why its permissions cannot be read; `permissionIds` is empty then. null = they can be read. */
  readonly broken: string | null;
}

/** Finds roles or permissions by id or by name. */
export interface NamedQuery {
  readonly ids: readonly string[];
  /** For permissions: names or slugs. */
  readonly names: readonly string[];
}

/** A secret that was replaced by rotation. It is valid until `untilMs`. */
export interface FormerSecret {
  readonly digest: string;
  /** Id of the key or root key. */
  readonly owner: string;
  readonly untilMs: number;
}

export interface FoundRootKey {
  readonly rootKey: RootKeyRecord;
  /** If the root key was found by a former secret: until when that is valid. null = it was found by its present secret. */
  readonly secretUntilMs: number | null;
}

/** A session, and the root key that signed in. */
export interface FoundSession {
  readonly session: SessionRecord;
  readonly rootKey: RootKeyRecord;
}

/** A session of the customers' page, and the root key that made its link. */
export interface FoundPortalSession {
  readonly session: PortalSessionRecord;
  readonly rootKey: RootKeyRecord;
}

/** A stored key that cannot be read. Only requests for this key fail, and their errors name it. */
export interface PoisonedKey {
  readonly poisoned: string;
  readonly apiId: string;
  readonly secretDigest: string;
  readonly generation: number;
  readonly revision: number;
  readonly reason: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Where the next page begins; null on the last page. */
  readonly cursor: string | null;
}

export interface KeyQuery {
  readonly apiId: string;
  readonly externalId: string | null;
  /** Finds keys whose `start` begins with this text, or whose name and metadata have a word that begins with each of its words. */
  readonly search: string | null;
  readonly limit: number;
  /** Id of the last item of the previous page. */
  readonly after: string | null;
}

/** Whether verifications accept the key itself. A disabled key counts as disabled even if it has expired. */
export type KeyState = 'active' | 'disabled' | 'expired';

export interface FilteredKeyQuery extends KeyQuery {
  /** null = all. */
  readonly state: KeyState | null;
  /** Keys that are on this plan, by themselves or with their identity; null = all. */
  readonly planId: string | null;
  readonly nowMs: number;
}

/** A page without a total can have fewer items than asked for, or none, and still a cursor. */
export interface FilteredPage<T> extends Omit<Page<T>, 'total'> {
  /** null = not counted: counting would read all keys. */
  readonly total: number | null;
}

export interface ApiQuery {
  readonly limit: number;
  readonly after: string | null;
  /** Only apis with these ids; null = all. */
  readonly ids: readonly string[] | null;
}

export interface IdentityQuery extends PageQuery {
  /** Finds identities whose `externalId` begins with this text, or that have a word that begins with each of its words. */
  readonly search: string | null;
}

export interface PageQuery {
  readonly limit: number;
  readonly after: string | null;
}

/**
 * A read sees every change that was answered before the read began. It finds no deleted api, no softly deleted key, no key of a
 * deleted api and no key of a former generation, except where a method says so.
 */
export interface Records {
  /** One lookup for many waiting verifications. The answers are in the order of the digests. */
  findKeysByDigest(digests: readonly string[]): Promise<readonly (KeyWithIdentity | PoisonedKey | null)[]>;
  findKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null>;
  /** Also finds a deleted key, while its api exists. */
  findAnyKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null>;
  /** Which of the digests are in use: by a key or root key, even a deleted or revoked one, or by a former secret that is not pruned yet. */
  findTakenDigests(digests: readonly string[]): Promise<readonly string[]>;
  /** Former secrets of these keys or root keys that are not pruned yet. */
  listFormerSecrets(owners: readonly string[]): Promise<readonly FormerSecret[]>;
  /** Keys of former generations of an api that are not yet deleted in the tables, at most `limit`. */
  listKeysLeftBehind(apiId: string, limit: number): Promise<readonly (KeyWithIdentity | PoisonedKey)[]>;
  /** Apis, also deleted ones, that have such keys. */
  listApisWithKeysLeftBehind(): Promise<readonly Pick<ApiRecord, 'id' | 'purgesBelow'>[]>;
  /** Keys that expire within the time of their alerts and of which `key.expiring` has not told yet; at most `limit`. */
  listExpiringKeys(nowMs: number, limit: number): Promise<readonly (KeyWithIdentity | PoisonedKey)[]>;
  /** Counts keys that are not deleted, up to `upTo`. */
  countKeys(upTo: number): Promise<number>;
  countApis(upTo: number): Promise<number>;
  countNamespaces(upTo: number): Promise<number>;
  listKeys(query: KeyQuery): Promise<Page<KeyWithIdentity | PoisonedKey>>;
  listFilteredKeys(query: FilteredKeyQuery): Promise<FilteredPage<KeyWithIdentity | PoisonedKey>>;

  findApi(apiId: string): Promise<ApiRecord | null>;
  /** Which of these apis exist, in any order. */
  findApis(apiIds: readonly string[]): Promise<readonly ApiRecord[]>;
  listApis(query: ApiQuery): Promise<Page<ApiRecord>>;

  findIdentity(externalId: string): Promise<IdentityRecord | null>;
  /** Which of these identities exist, in any order. */
  findIdentities(externalIds: readonly string[]): Promise<readonly IdentityRecord[]>;
  findIdentityById(id: string): Promise<IdentityRecord | null>;
  /** The identities whose `externalId` comes right before and right after this one, at most `count` on each side. */
  listNeighbours(externalId: string, count: number): Promise<readonly IdentityRecord[]>;
  listIdentities(query: IdentityQuery): Promise<Page<IdentityRecord>>;
  /** The number of keys of each of these identities that are not deleted, in the order of the identities. */
  countKeysOfIdentities(identityIds: readonly string[]): Promise<readonly number[]>;
  /** Keys of an identity, of all apis, at most `limit`, after a key id. */
  listKeysOfIdentity(identityId: string, query: PageQuery): Promise<readonly (KeyWithIdentity | PoisonedKey)[]>;

  findPlan(planId: string): Promise<PlanRecord | null>;
  findPlanByName(name: string): Promise<PlanRecord | null>;
  /** Which of the plans exist, each once, in any order. */
  findPlans(planIds: readonly string[]): Promise<readonly PlanWithPermissions[]>;
  listPlans(query: PageQuery): Promise<Page<PlanRecord>>;
  countPlans(upTo: number): Promise<number>;
  /** Identities, and keys that are not deleted, that are on a plan or move to it. */
  countHolders(planId: string): Promise<number>;

  /** Sorted by name. */
  listPermissions(): Promise<readonly PermissionRecord[]>;
  /** Sorted by name, without roles that cannot be read. */
  listRoles(): Promise<readonly RoleRecord[]>;
  /** Which of the permissions exist, each once, in any order. */
  findPermissions(named: NamedQuery): Promise<readonly PermissionRecord[]>;
  findRoles(named: NamedQuery): Promise<readonly FoundRole[]>;
  /** Counts permissions, up to `upTo`. */
  countPermissions(upTo: number): Promise<number>;
  countRoles(upTo: number): Promise<number>;

  findNamespace(name: string): Promise<NamespaceRecord | null>;
  findNamespaceById(id: string): Promise<NamespaceRecord | null>;
  findOverride(namespaceId: string, identifier: string): Promise<OverrideRecord | null>;
  /** All overrides of a namespace; at most MAX_OVERRIDES_PER_NAMESPACE. */
  listAllOverrides(namespaceId: string): Promise<readonly OverrideRecord[]>;
  listOverrides(namespaceId: string, query: PageQuery): Promise<Page<OverrideRecord>>;

  /** Finds a root key by its present secret, or by a former one that is valid at `nowMs`. */
  findRootKeyByDigest(digest: string, nowMs: number): Promise<FoundRootKey | null>;
  findRootKey(rootKeyId: string): Promise<RootKeyRecord | null>;
  listRootKeys(): Promise<readonly RootKeyRecord[]>;
  /** Finds a session by its secret, even an ended one. */
  findSession(digest: string): Promise<FoundSession | null>;
  findSessionById(sessionId: string): Promise<SessionRecord | null>;
  /** Sessions of these root keys (null = of all) that have not ended, newest first. */
  listSessions(rootKeyIds: readonly string[] | null, nowMs: number, limit: number): Promise<readonly SessionRecord[]>;
  /** Finds a session of the customers' page by the token of its link or by the secret of the browser, even an ended one. */
  findPortalSession(digest: string): Promise<FoundPortalSession | null>;
  /** The ids of an identity's sessions that have not ended, newest first. */
  listPortalSessions(identityId: string, nowMs: number): Promise<readonly string[]>;

  /** When these keys were last verified; null = never. */
  readLastUses(keyIds: readonly string[]): Promise<readonly (number | null)[]>;
  /** Newest first. */
  listEntries(query: EntryQuery): Promise<{ readonly entries: readonly StoredEntry[]; readonly cursor: number | null }>;
}
