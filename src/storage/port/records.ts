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

/** A key with the records that its verification needs. */
export interface KeyWithIdentity {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  /** Roles and permissions of the key that still exist; null = none. */
  readonly permissions: KeyPermissions | null;
  /** Until when a former secret is valid that the key was found by; null = it was found by its present secret. */
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

/** A role whose permissions cannot be read. A key with it can be changed and deleted, but its verification fails. */
export interface BrokenRole {
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
  /** Until when a former secret is valid that the root key was found by; null = it was found by its present secret. */
  readonly secretUntilMs: number | null;
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

export interface ApiQuery {
  readonly limit: number;
  readonly after: string | null;
  /** Only apis with these ids; null = all. */
  readonly ids: readonly string[] | null;
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
  /** Finds a deleted key too, while its api exists. */
  findAnyKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null>;
  /** Those of the digests that are in use: by a key or root key, also a deleted or revoked one, or by a former secret not yet pruned. */
  findTakenDigests(digests: readonly string[]): Promise<readonly string[]>;
  /** Former secrets of these keys or root keys that are not pruned yet. */
  listFormerSecrets(owners: readonly string[]): Promise<readonly FormerSecret[]>;
  /** Keys of former generations of an api that are not yet deleted in the tables, at most `limit`. */
  listKeysLeftBehind(apiId: string, limit: number): Promise<readonly (KeyWithIdentity | PoisonedKey)[]>;
  /** Apis, also deleted ones, that have such keys. */
  listApisWithKeysLeftBehind(): Promise<readonly Pick<ApiRecord, 'id' | 'purgesBelow'>[]>;
  /** Counts keys that are not deleted, up to `upTo`. */
  countKeys(upTo: number): Promise<number>;
  countApis(upTo: number): Promise<number>;
  countNamespaces(upTo: number): Promise<number>;
  listKeys(query: KeyQuery): Promise<Page<KeyWithIdentity | PoisonedKey>>;

  findApi(apiId: string): Promise<ApiRecord | null>;
  listApis(query: ApiQuery): Promise<Page<ApiRecord>>;

  findIdentity(externalId: string): Promise<IdentityRecord | null>;
  findIdentityById(id: string): Promise<IdentityRecord | null>;
  listIdentities(query: PageQuery): Promise<Page<IdentityRecord>>;

  /** Sorted by name. */
  listPermissions(): Promise<readonly PermissionRecord[]>;
  /** Sorted by name, without roles that cannot be read. */
  listRoles(): Promise<readonly RoleRecord[]>;
  /** The permissions that exist, each once, in no particular order. */
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

  /** When these keys were last verified; null = never. */
  readLastUses(keyIds: readonly string[]): Promise<readonly (number | null)[]>;
  /** Newest first. */
  listEvents(query: EventQuery): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: number | null }>;
}

/** Words that a key gains or loses in the search index. */
export interface WordChange {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** A key that is deleted with all keys of its api. */
export interface KeyToDelete {
  readonly id: string;
  readonly expect: number;
  /** Digests under which nodes may have cached it. */
  readonly digests: readonly string[];
  readonly words: readonly string[];
}

/** One row to write. `expect` is the revision that the change was made from. A different one in the database refuses the change. */
export type RecordWrite =
  | { readonly kind: 'insertApi'; readonly api: ApiRecord }
  /** `endsKeys`: the present keys of the api are deleted by this write. */
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
      /** Further digests under which nodes may have cached the key, besides the one in the record. */
      readonly formerDigests?: readonly string[];
    }
  | {
      readonly kind: 'removeKey';
      readonly key: { readonly id: string; readonly apiId: string };
      readonly expect: number;
      readonly words?: readonly string[];
      readonly digests: readonly string[];
    }
  /** Deletes many keys of one api softly; `removeKeys` removes them for good. */
  | { readonly kind: 'retireKeys'; readonly keys: readonly KeyToDelete[]; readonly deletedAtMs: number }
  | { readonly kind: 'removeKeys'; readonly apiId: string; readonly keys: readonly KeyToDelete[] }
  | { readonly kind: 'insertSecret'; readonly secret: FormerSecret }
  /** Ends all former secrets of a key or root key. */
  | { readonly kind: 'endSecrets'; readonly owner: string }
  | { readonly kind: 'insertPermission'; readonly permission: PermissionRecord }
  | { readonly kind: 'removePermission'; readonly permissionId: string }
  | { readonly kind: 'insertRole'; readonly role: RoleRecord }
  | { readonly kind: 'updateRole'; readonly role: RoleRecord; readonly expect: number }
  | { readonly kind: 'removeRole'; readonly roleId: string; readonly expect: number }
  | { readonly kind: 'insertNamespace'; readonly namespace: NamespaceRecord }
  /** `expectPatterns`: the revision of the namespace's patterns. A write of a pattern raises it. */
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
