import { parseBlock } from '../../core/address.ts';
import { type Grant, holdPermissions } from '../../core/permissions.ts';
import type { KeyPermissions, KeyWithIdentity } from '../../storage/port/records.ts';
import { type CachedEntry, NO_SOURCES, type OwnFields, type Sources } from './cachedEntry.ts';
import type { IdentityEntry } from './identityEntry.ts';
import { entryCredits } from './identityTraits.ts';
import type { KeyEntry, KeyExtras } from './keyEntry.ts';
import { asConfigured, joined, orNone, withGiven } from './limitLists.ts';
import type { EntryPermissions, PlanEntry } from './planEntry.ts';

/** An entry that is kept as an object. `identity` is that of its row. The plan of a key must have been read. */
export function toKeyEntry(
  found: KeyWithIdentity,
  apiId: string,
  identity: IdentityEntry | null,
  sources: Sources = NO_SOURCES,
): CachedEntry {
  const { key, permissions } = found;
  const own: OwnFields = {
    credits: key.credits,
    alerts: key.alerts,
    limits: orNone(key.limits.map(asConfigured)),
    permissions: permissions === null ? null : toEntryPermissions(permissions),
  };
  return {
    id: key.id,
    apiId,
    revision: key.revision,
    enabled: key.enabled && hasItsIdentity(found),
    expiresAtMs: key.expiresAtMs ?? Infinity,
    ...partsOf(own, identity, sources.planSlot?.entry ?? null),
    accountsFrom: 0,
    extras: withPermissions(toExtras(found), heldPermissions(own, identity, sources.planSlot?.entry ?? null)),
    rowNumber: -1,
    ...sources,
    own,
    openCount: null,
    local: null,
    windows: null,
    checkedAt: 0,
    wire: null,
  };
}

/** The same key after its identity or a plan has changed. */
export function withSources(
  entry: CachedEntry,
  own: OwnFields,
  { identity, plan }: Pick<KeyEntry, 'identity' | 'plan'>,
): CachedEntry {
  return {
    ...entry,
    ...partsOf(own, identity, plan),
    extras: withPermissions(entry.extras, heldPermissions(own, identity, plan)),
    // The count of the old entry is written separately.
    openCount: null,
    windows: null,
    checkedAt: 0,
    wire: null,
  };
}

type GivenParts = Pick<KeyEntry, 'identity' | 'plan' | 'credits' | 'sharedCredits' | 'limits' | 'alwaysApplied'>;

/** What a key has itself together with what its identity or its plan gives. */
function partsOf(own: OwnFields, identity: IdentityEntry | null, plan: PlanEntry | null): GivenParts {
  const always = withGiven(own.limits, plan?.forKeys.always ?? null);
  return {
    identity,
    plan,
    credits: entryCredits(own, plan?.record ?? null),
    sharedCredits: identity === null ? null : identity.credits,
    limits: withGiven(own.limits, plan?.forKeys.all ?? null),
    alwaysApplied: joined(always, identity?.alwaysApplied ?? null),
  };
}

const NO_EXTRAS: KeyExtras = {
  name: null,
  meta: null,
  environment: null,
  allowedBlocks: null,
  permissions: null,
  secretUntilMs: Infinity,
  planMovesAtMs: Infinity,
};

export function withPermissions(extras: KeyExtras | null, permissions: EntryPermissions | null): KeyExtras | null {
  return extras === null && permissions === null ? null : { ...(extras ?? NO_EXTRAS), permissions };
}

/** What the key has itself, and what its plan or that of its identity gives. */
function heldPermissions(
  { permissions: own }: OwnFields,
  identity: IdentityEntry | null,
  plan: PlanEntry | null,
): EntryPermissions | null {
  const given = (plan ?? identity?.plan)?.permissions ?? null;
  if (own === null || given === null) return own ?? given;
  const grants = [...own.grants, ...given.grants.filter(({ slug }) => !own.held.grants.has(slug))];
  const sorted = grants.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return permissionsOf([...new Set([...own.roles, ...given.roles])].toSorted(), sorted);
}

/** Deleting an identity detaches or deletes its keys. A key whose identity is missing all the same is refused: nothing would limit it. */
function hasItsIdentity({ key, identity }: KeyWithIdentity): boolean {
  return key.identityId === null || identity !== null;
}

export function toExtras({ key, permissions, secretUntilMs }: KeyWithIdentity): KeyExtras | null {
  const { name, meta, environment, ipAllowlist, planMove } = key;
  const isPlain = name === null && meta === null && environment === null && ipAllowlist.length === 0;
  if (isPlain && permissions === null && secretUntilMs === null && planMove === null) return null;
  return {
    name,
    meta,
    environment,
    allowedBlocks: ipAllowlist.length === 0 ? null : ipAllowlist.flatMap((text) => parseBlock(text) ?? []),
    permissions: permissions === null ? null : toEntryPermissions(permissions),
    secretUntilMs: secretUntilMs ?? Infinity,
    planMovesAtMs: planMove?.atMs ?? Infinity,
  };
}

export function toEntryPermissions({ roles, grants }: KeyPermissions): EntryPermissions {
  return permissionsOf(
    roles.map(({ name }) => name),
    grants,
  );
}

function permissionsOf(roles: readonly string[], grants: readonly Grant[]): EntryPermissions {
  return { roles, grants, permissions: grants.map(({ slug }) => slug), held: holdPermissions(grants) };
}
