import type {
  ApiRecord,
  IdentityRecord,
  KeyRecord,
  NamespaceRecord,
  OverrideRecord,
  PermissionRecord,
  RoleRecord,
  RootKeyRecord,
} from '../../core/records.ts';
import type { Grant } from '../../core/permissions.ts';
import type { FinishedBatch, ImportBatch } from './imports.ts';
import type { EventQuery, StoredEvent } from './events.ts';

/** A key together with what its verification needs of other records. */
export interface KeyWithIdentity {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  /** Of the ids in the record those that still stand for something, with the permissions that the roles bring. */
  readonly permissions: KeyPermissions | null;
  /** Until when the secret that was asked for is valid, when it was replaced by another; null = it is the present one. */
  readonly secretUntilMs: number | null;
}

/** null stands for a key without roles and permissions. */
export interface KeyPermissions {
  readonly roles: readonly { readonly id: string; readonly name: string }[];
  /** Direct ones. */
  readonly direct: readonly { readonly id: string; readonly name: string; readonly slug: string }[];
  /** What the key holds, directly and through roles, each slug once, in the order of the slugs. */
  readonly grants: readonly Grant[];
  /** Roles of the key that are not among the others, because what they bring cannot be read; absent when there are none. */
  readonly broken?: readonly BrokenRole[];
}

/** What the key may do is not known: it can be changed and deleted, and a verification of it fails. */
export interface BrokenRole {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

export interface FoundRole extends RoleRecord {
  /** Why its permissions cannot be read, of which there are none then; null = they can. */
  readonly broken: string | null;
}

/** Roles or permissions that a request names. */
export interface NamedQuery {
  readonly ids: readonly string[];
  /** Of permissions: names or slugs. */
  readonly names: readonly string[];
}

/** A secret that was replaced and is still valid. */
export interface FormerSecret {
  readonly digest: string;
  /** The key or root key. */
  readonly owner: string;
  readonly untilMs: number;
}

export interface FoundRootKey {
  readonly rootKey: RootKeyRecord;
  /** Until when the secret that was asked for is valid, when it was replaced by another; null = it is the present one. */
  readonly secretUntilMs: number | null;
}

/** A stored key that cannot be read: it fails alone, naming itself. */
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
  /** Where the next page begins; null on the last one. */
  readonly cursor: string | null;
}

export interface KeyQuery {
  readonly apiId: string;
  readonly externalId: string | null;
  /** Keys whose `start` begins so, or that have words in their name or metadata that begin as these words do. */
  readonly search: string | null;
  readonly limit: number;
  /** Id of the last item of the page before. */
  readonly after: string | null;
}

export interface ApiQuery {
  readonly limit: number;
  readonly after: string | null;
  /** Only these; null = all. */
  readonly ids: readonly string[] | null;
}

export interface PageQuery {
  readonly limit: number;
  readonly after: string | null;
}

/**
 * Reads see every change that was answered before they were asked. Softly deleted keys, keys of a deleted api and those of a
 * former generation are not found, nor are deleted apis.
 */
export interface Records {
  /** One lookup for many waiting verifications, answers in the order of the questions. */
  findKeysByDigest(digests: readonly string[]): Promise<readonly (KeyWithIdentity | PoisonedKey | null)[]>;
  findKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null>;
  /** Also a deleted one, as long as its api is there. */
  findAnyKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null>;
  /** Which of these digests belong to a key or root key, also a deleted or revoked one, or are former secrets that are not pruned yet. */
  findTakenDigests(digests: readonly string[]): Promise<readonly string[]>;
  /** Former secrets of keys or root keys that are not pruned yet. */
  listFormerSecrets(owners: readonly string[]): Promise<readonly FormerSecret[]>;
  /** Keys of an api that were deleted with all others and are not yet written down as such, at most `limit`. */
  listKeysLeftBehind(apiId: string, limit: number): Promise<readonly (KeyWithIdentity | PoisonedKey)[]>;
  /** Apis, live or deleted, that have such keys. */
  listApisWithKeysLeftBehind(): Promise<readonly Pick<ApiRecord, 'id' | 'purgesBelow'>[]>;
  /** Live ones, counted no further than to `upTo`. */
  countKeys(upTo: number): Promise<number>;
  countApis(upTo: number): Promise<number>;
  countNamespaces(upTo: number): Promise<number>;
  listKeys(query: KeyQuery): Promise<Page<KeyWithIdentity | PoisonedKey>>;

  findApi(apiId: string): Promise<ApiRecord | null>;
  listApis(query: ApiQuery): Promise<Page<ApiRecord>>;

  findIdentity(externalId: string): Promise<IdentityRecord | null>;
  findIdentityById(id: string): Promise<IdentityRecord | null>;
  listIdentities(query: PageQuery): Promise<Page<IdentityRecord>>;

  /** In the order of their names. */
  listPermissions(): Promise<readonly PermissionRecord[]>;
  /** Without those that cannot be read. */
  listRoles(): Promise<readonly RoleRecord[]>;
  /** Those that there are, each once, in no order. */
  findPermissions(named: NamedQuery): Promise<readonly PermissionRecord[]>;
  findRoles(named: NamedQuery): Promise<readonly FoundRole[]>;
  /** Counted no further than to `upTo`. */
  countPermissions(upTo: number): Promise<number>;
  countRoles(upTo: number): Promise<number>;

  findNamespace(name: string): Promise<NamespaceRecord | null>;
  findNamespaceById(id: string): Promise<NamespaceRecord | null>;
  findOverride(namespaceId: string, identifier: string): Promise<OverrideRecord | null>;
  /** All of them, bounded by their maximum. */
  listAllOverrides(namespaceId: string): Promise<readonly OverrideRecord[]>;
  listOverrides(namespaceId: string, query: PageQuery): Promise<Page<OverrideRecord>>;

  /** Under its present secret, or a former one that is valid at this instant. */
  findRootKeyByDigest(digest: string, nowMs: number): Promise<FoundRootKey | null>;
  findRootKey(rootKeyId: string): Promise<RootKeyRecord | null>;
  listRootKeys(): Promise<readonly RootKeyRecord[]>;

  /** When these keys were last verified; null = never. */
  readLastUses(keyIds: readonly string[]): Promise<readonly (number | null)[]>;
  /** Newest first. */
  listEvents(query: EventQuery): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: number | null }>;
}

/** Words that a key gains or loses in the index of the search. */
export interface WordChange {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** A key that is deleted together with others. */
export interface KeyToDelete {
  readonly id: string;
  readonly expect: number;
  /** Digests under which nodes may know it. */
  readonly digests: readonly string[];
  readonly words: readonly string[];
}

/** One row to write. `expect` is the revision the change was made from: another one in the database refuses the change. */
export type RecordWrite =
  | { readonly kind: 'insertApi'; readonly api: ApiRecord }
  /** `endsKeys`: the keys that it had until now are not found any more. */
  | { readonly kind: 'updateApi'; readonly api: ApiRecord; readonly expect: number; readonly endsKeys: boolean }
  | { readonly kind: 'insertIdentity'; readonly identity: IdentityRecord }
  | { readonly kind: 'updateIdentity'; readonly identity: IdentityRecord; readonly expect: number }
  | { readonly kind: 'removeIdentity'; readonly identityId: string; readonly expect: number }
  | { readonly kind: 'insertKey'; readonly key: KeyRecord; readonly words?: readonly string[] }
  | {
      readonly kind: 'updateKey';
      readonly key: KeyRecord;
      readonly expect: number;
      readonly words?: WordChange;
      /** Digests under which nodes may know the key, beside the one in the record. */
      readonly formerDigests?: readonly string[];
    }
  | {
      readonly kind: 'removeKey';
      readonly key: { readonly id: string; readonly apiId: string };
      readonly expect: number;
      readonly words?: readonly string[];
      readonly digests: readonly string[];
    }
  /** Many at once, of one api. */
  | { readonly kind: 'retireKeys'; readonly keys: readonly KeyToDelete[]; readonly deletedAtMs: number }
  | { readonly kind: 'removeKeys'; readonly apiId: string; readonly keys: readonly KeyToDelete[] }
  | { readonly kind: 'insertSecret'; readonly secret: FormerSecret }
  /** All former secrets of a key or root key. */
  | { readonly kind: 'endSecrets'; readonly owner: string }
  | { readonly kind: 'insertPermission'; readonly permission: PermissionRecord }
  | { readonly kind: 'removePermission'; readonly permissionId: string }
  | { readonly kind: 'insertRole'; readonly role: RoleRecord }
  | { readonly kind: 'updateRole'; readonly role: RoleRecord; readonly expect: number }
  | { readonly kind: 'removeRole'; readonly roleId: string; readonly expect: number }
  | { readonly kind: 'insertNamespace'; readonly namespace: NamespaceRecord }
  /** `expectPatterns`: the revision of the namespace's patterns; it grows when the identifier is a pattern. */
  | { readonly kind: 'insertOverride'; readonly override: OverrideRecord; readonly expectPatterns: number }
  | {
      readonly kind: 'updateOverride';
      readonly override: OverrideRecord;
      readonly expect: number;
      readonly expectPatterns: number;
    }
  | { readonly kind: 'removeOverride'; readonly override: OverrideRecord; readonly expectPatterns: number }
  | { readonly kind: 'insertRootKey'; readonly rootKey: RootKeyRecord }
  | {
      readonly kind: 'rotateRootKey';
      readonly rootKeyId: string;
      readonly expect: string;
      readonly secretDigest: string;
      readonly start: string;
    }
  | { readonly kind: 'revokeRootKey'; readonly rootKeyId: string; readonly revokedAtMs: number }
  | { readonly kind: 'enqueueImport'; readonly batch: ImportBatch }
  | { readonly kind: 'finishImport'; readonly batch: FinishedBatch };
