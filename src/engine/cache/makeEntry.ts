import { parseBlock } from '../../core/address.ts';
import { type Grant, holdPermissions } from '../../core/permissions.ts';
import { heldCredits, planLimits } from '../../core/plan.ts';
import type { IdentityRecord, LimitRecord, PlanLimit } from '../../core/records.ts';
import type { KeyPermissions, KeyWithIdentity } from '../../storage/port/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { EntryAccess, IdentityEntry, IdentitySlot, KeyExtras, PlanEntry, PlanSlot } from './keyEntry.ts';
import type { LimitAccount } from './appliedLimit.ts';

/** An entry that is kept as an object. `identity` is that of the slot. */
export function toKeyEntry(
  found: KeyWithIdentity,
  apiId: string,
  identity: IdentityEntry | null,
  identitySlot: IdentitySlot | null = null,
): CachedEntry {
  const { key, permissions } = found;
  const limits = key.limits.length === 0 ? null : key.limits.map(asConfigured);
  const ownAccess = permissions === null ? null : toEntryAccess(permissions);
  return {
    id: key.id,
    apiId,
    revision: key.revision,
    enabled: key.enabled && hasItsIdentity(found),
    expiresAtMs: key.expiresAtMs ?? Infinity,
    identity,
    credits: key.credits,
    limits,
    alwaysApplied: joined(limits, identity?.alwaysApplied ?? null),
    accountsFrom: 0,
    extras: withAccess(toExtras(found), joinedAccess(ownAccess, identity)),
    rowNumber: -1,
    identitySlot,
    ownAccess,
    openCount: null,
    local: null,
    wire: null,
  };
}

/** The same key after its identity or its plan has changed. */
export function withIdentity(entry: CachedEntry, identity: IdentityEntry): CachedEntry {
  const access = joinedAccess(entry.ownAccess, identity);
  return {
    ...entry,
    identity,
    alwaysApplied: joined(entry.limits, identity.alwaysApplied),
    extras: withAccess(entry.extras, access),
    // The count of the old entry is written down by itself.
    openCount: null,
    wire: null,
  };
}

const NO_EXTRAS: KeyExtras = {
  name: null,
  meta: null,
  environment: null,
  allowedBlocks: null,
  access: null,
  secretUntilMs: Infinity,
};

export function withAccess(extras: KeyExtras | null, access: EntryAccess | null): KeyExtras | null {
  return extras === null && access === null ? null : { ...(extras ?? NO_EXTRAS), access };
}

/** What the key has itself, and what the plan of its identity gives. */
function joinedAccess(own: EntryAccess | null, identity: IdentityEntry | null): EntryAccess | null {
  const given = identity?.plan?.access ?? null;
  if (own === null || given === null) return own ?? given;
  const grants = [...own.grants, ...given.grants.filter(({ slug }) => !own.held.grants.has(slug))];
  const sorted = grants.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return toAccess([...new Set([...own.roles, ...given.roles])].toSorted(), sorted);
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
  const ofPlan = planLimits(own, plan?.record ?? null);
  // Most identities have no limit of their own and share those of their plan.
  const limits = own.length === 0 ? (plan?.limits ?? own) : [...own, ...limitsNamed(plan, ofPlan)];
  const always = limits.filter(({ name }) => appliesAlways([...record.limits, ...ofPlan], name));
  return {
    id,
    externalId,
    meta,
    enabled: enabled && (plan === null || plan.record !== null),
    plan,
    planSlot,
    planMovesAtMs: planMove?.atMs ?? Infinity,
    credits: heldCredits(record.credits, plan?.record ?? null),
    limits: limits.length === 0 ? null : limits,
    alwaysApplied: always.length === 0 ? null : always,
    revision,
    record,
    windows: null,
  };
}

function limitsNamed(plan: PlanEntry | null, wanted: readonly PlanLimit[]): readonly AppliedLimit[] {
  return plan?.limits.filter((limit) => wanted.some(({ name }) => name === limit.name)) ?? [];
}

function appliesAlways(limits: readonly PlanLimit[], name: string): boolean {
  return limits.find((limit) => limit.name === name)?.autoApply !== false;
}

export function joined(
  own: readonly AppliedLimit[] | null,
  shared: readonly AppliedLimit[] | null,
): readonly AppliedLimit[] | null {
  return own === null || shared === null ? (own ?? shared) : [...own, ...shared];
}

export function toExtras({ key, permissions: access, secretUntilMs }: KeyWithIdentity): KeyExtras | null {
  const { name, meta, environment, ipAllowlist } = key;
  const isPlain = name === null && meta === null && environment === null && ipAllowlist.length === 0;
  if (isPlain && access === null && secretUntilMs === null) return null;
  return {
    name,
    meta,
    environment,
    allowedBlocks: ipAllowlist.length === 0 ? null : ipAllowlist.flatMap((text) => parseBlock(text) ?? []),
    access: access === null ? null : toEntryAccess(access),
    secretUntilMs: secretUntilMs ?? Infinity,
  };
}

export function toEntryAccess({ roles, grants }: KeyPermissions): EntryAccess {
  return toAccess(
    roles.map(({ name }) => name),
    grants,
  );
}

function toAccess(roles: readonly string[], grants: readonly Grant[]): EntryAccess {
  return { roles, grants, permissions: grants.map(({ slug }) => slug), held: holdPermissions(grants) };
}

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured({ name, limit, durationMs, async, account: number }: LimitRecord): AppliedLimit {
  const account = number as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, wire: null };
}
