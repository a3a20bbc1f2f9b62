import { parseBlock } from '../../core/address.ts';
import { tellsBelow } from '../../core/alerts.ts';
import { recordFence } from '../../core/fence.ts';
import { type Grant, holdPermissions } from '../../core/permissions.ts';
import { heldCredits, notReplaced } from '../../core/plan.ts';
import type { IdentityRecord, LimitRecord, PlanRecord } from '../../core/records.ts';
import type { KeyPermissions, KeyWithIdentity } from '../../storage/port/records.ts';
import type { AppliedLimit, LimitAccount } from './appliedLimit.ts';
import { type CachedEntry, NO_SOURCES, type OwnFields, type Sources } from './cachedEntry.ts';
import type {
  EntryPermissions,
  EntryCredits,
  IdentityEntry,
  KeyEntry,
  KeyExtras,
  PlanEntry,
  PlanSlot,
} from './keyEntry.ts';

/** An entry that is kept as an object. `identity` is that of the slot. The plan of a key must have been read. */
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
    fence: null,
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
    wire: null,
  };
}

type GivenParts = Pick<KeyEntry, 'identity' | 'plan' | 'credits' | 'limits' | 'alwaysApplied'>;

/** What a key has itself together with what its identity or its plan gives. */
function partsOf(own: OwnFields, identity: IdentityEntry | null, plan: PlanEntry | null): GivenParts {
  const always = withGiven(own.limits, plan?.forKeys.always ?? null);
  return {
    identity,
    plan,
    credits: entryCredits(own, plan?.record ?? null),
    limits: withGiven(own.limits, plan?.forKeys.all ?? null),
    alwaysApplied: joined(always, identity?.alwaysApplied ?? null),
  };
}

/** The credits of a holder under its own rules and those of its plan. */
function entryCredits(
  { credits, alerts }: Pick<OwnFields, 'credits' | 'alerts'>,
  plan: PlanRecord | null,
): EntryCredits | null {
  const held = heldCredits(credits, plan);
  return held === null ? null : { ...held, tellsBelow: held.metered ? 0 : tellsBelow(alerts, plan) };
}

/** The limits of a holder and those that its plan gives. `own`: all that it has, which replace those of the same name. */
export function withGiven(
  limits: readonly AppliedLimit[] | null,
  given: readonly AppliedLimit[] | null,
  own: readonly AppliedLimit[] | null = limits,
): readonly AppliedLimit[] | null {
  if (given === null || own === null) return joined(limits, given);
  const added = notReplaced(given, own);
  return added.length === 0 ? limits : joined(limits, added);
}

export function orNone(limits: readonly AppliedLimit[]): readonly AppliedLimit[] | null {
  return limits.length === 0 ? null : limits;
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

/** An identity with its plan, which must have been read. */
export function toIdentityEntry(record: IdentityRecord, planSlot: PlanSlot | null = null): IdentityEntry {
  const { id, externalId, meta, enabled, planMove, revision } = record;
  const plan = planSlot?.entry ?? null;
  const own = record.limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  const always = orNone(own.filter((_, i) => record.limits[i]?.autoApply !== false));
  return {
    id,
    externalId,
    meta,
    enabled: enabled && (plan === null || plan.record !== null),
    plan,
    planSlot,
    planMovesAtMs: planMove?.atMs ?? Infinity,
    credits: entryCredits(record, plan?.record ?? null),
    // Most identities have no limit of their own and share those of their plan.
    limits: withGiven(orNone(own), plan?.forIdentities.all ?? null),
    alwaysApplied: withGiven(always, plan?.forIdentities.always ?? null, orNone(own)),
    revision,
    record,
    fence: recordFence('identity', id, revision),
    local: null,
    windows: null,
    wire: null,
  };
}

export function joined(
  own: readonly AppliedLimit[] | null,
  shared: readonly AppliedLimit[] | null,
): readonly AppliedLimit[] | null {
  return own === null || shared === null ? (own ?? shared) : [...own, ...shared];
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

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured(configured: LimitRecord): AppliedLimit {
  const { name, limit, durationMs, async, notify = false } = configured;
  const account = configured.account as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, notify, wire: null };
}
