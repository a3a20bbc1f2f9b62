import { ABSENT, type Fence, noOverrideFence, patternsFence, permissionFence, recordFence } from '../../core/fence.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import type { PortalSessionRecord } from '../../core/portalSession.ts';
import type { CreditCall, SessionRecord, WebhookRecord } from '../../core/records.ts';
import type { PermissionRecord, RoleRecord, RootKeyRecord } from '../../model/access.ts';
import type { ApiRecord } from '../../model/apis.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { KeyRecord } from '../../model/keys.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { RecordChange } from './freshness.ts';
import type { FinishedBatch, ImportBatch } from './imports.ts';
import type { FormerSecret } from './records.ts';

/** Words that a record gains or loses in the search index. */
export interface WordChange {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** A key that is deleted with all keys of its api. */
export interface KeyToDelete {
  readonly id: string;
  readonly expect: number;
  /** The digests under which nodes may have cached it. */
  readonly digests: readonly string[];
  readonly words: readonly string[];
}

/** Records whose number is bounded: in the installation or, for overrides, in a namespace. */
export type BoundedRecords =
  | 'keys'
  | 'apis'
  | 'namespaces'
  | 'plans'
  | 'permissions'
  | 'roles'
  | 'webhooks'
  | 'overrides';

/** One row to write. `expect` is the revision that the change was made from. A different one in the database refuses the change. */
export type RecordWrite =
  | { readonly kind: 'insertApi'; readonly api: ApiRecord }
  /** `endsKeys`: the present keys of the api are deleted by this write. */
  | { readonly kind: 'updateApi'; readonly api: ApiRecord; readonly expect: number; readonly endsKeys: boolean }
  | { readonly kind: 'insertIdentity'; readonly identity: IdentityRecord; readonly words?: readonly string[] }
  | {
      readonly kind: 'updateIdentity';
      readonly identity: IdentityRecord;
      readonly expect: number;
      readonly words?: WordChange;
    }
  /** Refused while the identity has keys that are not deleted. */
  | {
      readonly kind: 'removeIdentity';
      readonly identityId: string;
      readonly expect: number;
      readonly words?: readonly string[];
    }
  /** Keys of this change belong to the identity. Refused if the identity has changed, was deleted, or has more keys than it may have. */
  | {
      readonly kind: 'joinIdentity';
      readonly identityId: string;
      readonly expect: number;
      /** The bound of the identity or of its plan; null = any number. */
      readonly maxKeys: number | null;
    }
  /**
   * Refused if there are more than `most`, including those of this change. One change counts after the other, so that simultaneous changes,
   * on any nodes, do not exceed the bound together.
   */
  | {
      readonly kind: 'requireAtMost';
      readonly what: BoundedRecords;
      /** What they belong to; null = the installation. */
      readonly of: string | null;
      readonly most: number;
    }
  | { readonly kind: 'insertPlan'; readonly plan: PlanRecord }
  | { readonly kind: 'updatePlan'; readonly plan: PlanRecord; readonly expect: number }
  /** Refused while the plan has holders. */
  | { readonly kind: 'removePlan'; readonly planId: string; readonly expect: number }
  /** A holder of this change joins the plan. Refused when the plan has changed or was deleted. */
  | { readonly kind: 'joinPlan'; readonly planId: string; readonly expect: number }
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
  /** Refused when the owner has a call with the same idempotency key. */
  | { readonly kind: 'insertCreditCall'; readonly call: CreditCall }
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
  /**
   * `expect`: the digest of the root key's secret. Refused if the root key has another one by now, or was revoked. Only its newest `most`
   * sessions stay, even if several are made at the same time.
   */
  | {
      readonly kind: 'insertSession';
      readonly session: SessionRecord;
      readonly expect: string;
      readonly most: number;
    }
  | { readonly kind: 'useSession'; readonly sessionId: string; readonly usedAtMs: number; readonly untilMs: number }
  | { readonly kind: 'endSession'; readonly sessionId: string }
  /** Ends all sessions of a root key, and the links that it made. */
  | { readonly kind: 'endSessions'; readonly rootKeyId: string }
  /** Only the newest `most` sessions of its identity stay, even if several are made at the same time. */
  | { readonly kind: 'insertPortalSession'; readonly session: PortalSessionRecord; readonly most: number }
  /** `expect`: the digest of the token. Refused when the link was opened before. */
  | {
      readonly kind: 'openPortalSession';
      readonly sessionId: string;
      readonly expect: string;
      readonly digest: string;
      readonly openedAtMs: number;
      readonly untilMs: number;
    }
  /** Refused when the identity has made `most` changes in its sessions. */
  | {
      readonly kind: 'countPortalChange';
      readonly sessionId: string;
      readonly identityId: string;
      readonly most: number;
    }
  /** The session is kept until all ended sessions are removed, because its changes still count. */
  | { readonly kind: 'endPortalSession'; readonly sessionId: string; readonly endedAtMs: number }
  /** The webhook gets the events that are written from now on. */
  | { readonly kind: 'insertWebhook'; readonly webhook: WebhookRecord }
  /** `resumesAtMs`: waiting deliveries are tried again from then on, with all tries left; null = they stay as they are. */
  | {
      readonly kind: 'updateWebhook';
      readonly webhook: WebhookRecord;
      readonly expect: number;
      readonly resumesAtMs: number | null;
    }
  | { readonly kind: 'removeWebhook'; readonly webhookId: string; readonly expect: number }
  /** Sends an event that is still kept to a webhook, once more or for the first time. */
  | { readonly kind: 'redeliver'; readonly webhookId: string; readonly eventId: string; readonly atMs: number }
  /** An event tells of the balance of an account. Refused if it was told before. */
  | {
      readonly kind: 'tellCredits';
      readonly account: number;
      readonly type: 'credits.low' | 'credits.exhausted';
      /** When the balance reaches this number, it may be told again. */
      readonly below: number;
    }
  /** Events tell of refills. Refused when one of them was told before. */
  | { readonly kind: 'tellRefills'; readonly lines: readonly { readonly account: number; readonly startMs: number }[] }
  /** An event tells of a limit that was reached. Refused when it was told in this window, or a later one. */
  | {
      readonly kind: 'tellLimit';
      /** The key or identity that it counts for. */
      readonly owner: string;
      readonly name: string;
      readonly durationMs: number;
      readonly resetAtMs: number;
    }
  /** Refused when more than `mostWaiting` keys of the migration would wait. */
  | { readonly kind: 'enqueueImport'; readonly batch: ImportBatch; readonly mostWaiting: number }
  | { readonly kind: 'finishImport'; readonly batch: FinishedBatch };

/** The effects of a write besides its row. A kind of write that has no entry in this file does not compile. */
interface WriteEffects {
  /** Names of records that no other write may use while this write is in flight. Other conflicts are left to the database. */
  readonly locks: readonly string[];
  /** Cached records that all nodes must drop. */
  readonly drops: Partial<RecordChange>;
  /** The fences that hold after the write. Fences of the same records with another revision are broken. */
  readonly revises: readonly Fence[];
}

type EffectsOf<K extends RecordWrite['kind']> = (write: Extract<RecordWrite, { kind: K }>) => WriteEffects;

const NOTHING: WriteEffects = { locks: [], drops: {}, revises: [] };

const EFFECTS: { readonly [K in RecordWrite['kind']]: EffectsOf<K> } = {
  insertApi: ({ api }) => ({ ...NOTHING, locks: [`api ${api.id}`] }),
  updateApi: ({ api, endsKeys }) => ({
    locks: [`api ${api.id}`],
    drops: endsKeys ? { apis: [api.id] } : {},
    // The call that ends the keys of an api answers only after each key was deleted, which breaks the fence of each key.
    revises: [],
  }),
  insertIdentity: ({ identity: { id, externalId, revision } }) => ({
    locks: [`identity ${externalId}`],
    drops: {},
    revises: [recordFence('identity', id, revision)],
  }),
  updateIdentity: ({ identity: { id, externalId, revision } }) => ({
    locks: [`identity ${externalId}`],
    drops: { identities: [id] },
    revises: [recordFence('identity', id, revision)],
  }),
  removeIdentity: ({ identityId }) => ({
    locks: [],
    drops: { identities: [identityId] },
    revises: [recordFence('identity', identityId, ABSENT)],
  }),
  joinIdentity: () => NOTHING,
  requireAtMost: () => NOTHING,
  insertCreditCall: () => NOTHING,
  insertPlan: ({ plan: { id, revision } }) => ({ ...NOTHING, revises: [recordFence('plan', id, revision)] }),
  updatePlan: ({ plan: { id, revision } }) => ({
    locks: [],
    drops: { plans: [id] },
    revises: [recordFence('plan', id, revision)],
  }),
  removePlan: ({ planId }) => ({
    locks: [],
    drops: { plans: [planId] },
    revises: [recordFence('plan', planId, ABSENT)],
  }),
  joinPlan: () => NOTHING,
  // A node may have cached that there is no key with this digest.
  insertKey: ({ key: { id, secretDigest, revision } }) => ({
    locks: [`key ${id}`],
    drops: { keys: [secretDigest] },
    revises: [recordFence('key', id, revision)],
  }),
  updateKey: ({ key, formerDigests = [] }) => ({
    locks: [`key ${key.id}`],
    drops: { keys: [key.secretDigest, ...formerDigests] },
    revises: [recordFence('key', key.id, key.revision)],
  }),
  removeKey: ({ key, digests }) => ({
    locks: [`key ${key.id}`],
    drops: { keys: digests },
    revises: [recordFence('key', key.id, ABSENT)],
  }),
  retireKeys: ({ keys }) => deletedEffects(keys, ({ expect }) => expect + 1),
  removeKeys: ({ keys }) => deletedEffects(keys, () => ABSENT),
  // Former secrets change together with their key or root key.
  insertSecret: () => NOTHING,
  endSecrets: () => NOTHING,
  insertPermission: ({ permission }) => ({ ...NOTHING, revises: [permissionFence(permission.id)] }),
  removePermission: ({ permissionId }) => ({
    locks: [],
    drops: { rbac: true },
    revises: [{ ...permissionFence(permissionId), revision: ABSENT }],
  }),
  insertRole: ({ role }) => ({ ...NOTHING, revises: [recordFence('role', role.id, role.revision)] }),
  updateRole: ({ role }) => ({
    locks: [],
    drops: { rbac: true },
    revises: [recordFence('role', role.id, role.revision)],
  }),
  removeRole: ({ roleId }) => ({ locks: [], drops: { rbac: true }, revises: [recordFence('role', roleId, ABSENT)] }),
  insertNamespace: ({ namespace: { id, name, patternsRevision } }) => ({
    locks: [],
    drops: { namespaces: [id, name] },
    revises: [patternsFence(id, patternsRevision)],
  }),
  insertOverride: ({ override, expectPatterns }) => overrideEffects(override, expectPatterns, override.revision),
  updateOverride: ({ override, expectPatterns }) => overrideEffects(override, expectPatterns, override.revision),
  removeOverride: ({ override, expectPatterns }) => overrideEffects(override, expectPatterns, ABSENT),
  insertRootKey: ({ rootKey }) => rootKeyEffects(rootKey.id),
  rotateRootKey: ({ rootKeyId }) => rootKeyEffects(rootKeyId),
  revokeRootKey: ({ rootKeyId }) => rootKeyEffects(rootKeyId),
  // A new session may have ended an older one, and nodes keep sessions with their root keys.
  insertSession: ({ session }) => rootKeyEffects(session.rootKeyId),
  useSession: () => NOTHING,
  endSession: () => ({ ...NOTHING, drops: { rootKeys: true } }),
  endSessions: () => ({ ...NOTHING, drops: { rootKeys: true } }),
  // Nodes keep nothing of the customers' page: each of its requests reads its session.
  insertPortalSession: () => NOTHING,
  openPortalSession: () => NOTHING,
  countPortalChange: () => NOTHING,
  endPortalSession: () => NOTHING,
  insertWebhook: ({ webhook }) => ({ ...NOTHING, locks: [`webhook ${webhook.id}`] }),
  updateWebhook: ({ webhook }) => ({ ...NOTHING, locks: [`webhook ${webhook.id}`] }),
  removeWebhook: ({ webhookId }) => ({ ...NOTHING, locks: [`webhook ${webhookId}`] }),
  redeliver: () => NOTHING,
  tellCredits: () => NOTHING,
  tellRefills: () => NOTHING,
  tellLimit: () => NOTHING,
  enqueueImport: () => NOTHING,
  finishImport: () => NOTHING,
};

function deletedEffects(keys: readonly KeyToDelete[], revisionOf: (key: KeyToDelete) => number): WriteEffects {
  return {
    locks: keys.map(({ id }) => `key ${id}`),
    drops: { keys: keys.flatMap(({ digests }) => digests) },
    revises: keys.map((key) => recordFence('key', key.id, revisionOf(key))),
  };
}

function overrideEffects(override: OverrideRecord, expectPatterns: number, revision: number): WriteEffects {
  const { id, namespaceId, identifier } = override;
  // This fence has the revision ABSENT while there is no override, and another one while there is.
  const own = { ...noOverrideFence(namespaceId, identifier), revision };
  const patterns = isPattern(identifier) ? [patternsFence(namespaceId, expectPatterns + 1)] : [];
  return {
    locks: [],
    drops: { namespaces: [namespaceId] },
    revises: [recordFence('override', id, revision), own, ...patterns],
  };
}

function rootKeyEffects(id: string): WriteEffects {
  return { locks: [`root key ${id}`], drops: { rootKeys: true }, revises: [] };
}

export function effectsOf<K extends RecordWrite['kind']>(write: Extract<RecordWrite, { kind: K }>): WriteEffects {
  return (EFFECTS[write.kind] as EffectsOf<K>)(write);
}

/** A new record, which has decided nothing yet. A new override does not belong here: its absence has decided. */
const NEW: ReadonlySet<RecordWrite['kind']> = new Set([
  'insertIdentity',
  'insertKey',
  'insertNamespace',
  'insertPermission',
  'insertPlan',
  'insertRole',
]);

/** Notes from comparisons before these writes no longer count. */
export function endsChecks(writes: readonly RecordWrite[]): boolean {
  return writes.some((write) => !NEW.has(write.kind) && effectsOf(write).revises.length > 0);
}

/** The cached records that these writes change; null = none, and no note ends. */
export function recordChangeOf(writes: readonly RecordWrite[]): RecordChange | null {
  const drops = writes.map((write) => effectsOf(write).drops);
  const lists = {
    keys: drops.flatMap(({ keys }) => keys ?? []),
    apis: drops.flatMap(({ apis }) => apis ?? []),
    identities: drops.flatMap(({ identities }) => identities ?? []),
    plans: drops.flatMap(({ plans }) => plans ?? []),
    namespaces: drops.flatMap(({ namespaces }) => namespaces ?? []),
  };
  const rbac = drops.some((each) => each.rbac);
  const rootKeys = drops.some((each) => each.rootKeys);
  const isNothing = !rbac && !rootKeys && Object.values(lists).every((list) => list.length === 0);
  if (isNothing && !endsChecks(writes)) return null;
  return { ...lists, rbac, rootKeys };
}
