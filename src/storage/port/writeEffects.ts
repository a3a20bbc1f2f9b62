import { ABSENT, type Fence, noOverrideFence, patternsFence, permissionFence, recordFence } from '../../core/fence.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import type { OverrideRecord } from '../../model/overrides.ts';
import type { RecordChange } from './freshness.ts';
import type { KeyToDelete, RecordWrite } from './writes.ts';

/** The effects of a write besides its row. A kind of write without an entry in this file does not compile. */
interface WriteEffects {
  /** Names of records that nothing else may use while the write is in flight. Other conflicts are left to the database. */
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
    // The call that ends the keys of an api answers after each key was deleted. That breaks the fence of each key.
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
  // It may have ended an older one, and nodes keep sessions with their root keys.
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

/** A new record, which decided nothing before. A new override does not belong here: that there was none has decided. */
const NEW: ReadonlySet<RecordWrite['kind']> = new Set([
  'insertIdentity',
  'insertKey',
  'insertNamespace',
  'insertPermission',
  'insertPlan',
  'insertRole',
]);

/** Notes about records that were compared before these writes count no more. */
export function endsNotes(writes: readonly RecordWrite[]): boolean {
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
  if (isNothing && !endsNotes(writes)) return null;
  return { ...lists, rbac, rootKeys };
}
