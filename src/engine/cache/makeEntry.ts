import { parseBlock } from '../../core/address.ts';
import { holdPermissions } from '../../core/permissions.ts';
import type { IdentityRecord, LimitRecord } from '../../core/records.ts';
import type { KeyWithIdentity } from '../../storage/port/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { EntryAccess, IdentityEntry, KeyExtras } from './keyEntry.ts';
import type { LimitAccount } from './appliedLimit.ts';

/** An entry that is kept as an object. */
export function toKeyEntry(found: KeyWithIdentity, apiId: string, identity: IdentityEntry | null): CachedEntry {
  const { key } = found;
  const limits = key.limits.length === 0 ? null : key.limits.map(asConfigured);
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
    extras: toExtras(found),
    rowNumber: -1,
    openCount: null,
    local: null,
    wire: null,
  };
}

/** Deleting an identity detaches or deletes its keys. A key whose identity is missing all the same is refused: nothing would limit it. */
function hasItsIdentity({ key, identity }: KeyWithIdentity): boolean {
  return key.identityId === null || identity !== null;
}

export function toIdentityEntry(identity: IdentityRecord): IdentityEntry {
  const { id, externalId, meta, enabled, credits, revision } = identity;
  const limits = identity.limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  const always = limits.filter((_, i) => identity.limits[i]?.autoApply !== false);
  return {
    id,
    externalId,
    meta,
    enabled,
    credits,
    limits: limits.length === 0 ? null : limits,
    alwaysApplied: always.length === 0 ? null : always,
    revision,
    isDropped: false,
  };
}

function joined(
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

function toEntryAccess({ roles, grants }: NonNullable<KeyWithIdentity['permissions']>): EntryAccess {
  const permissions = grants.map(({ slug }) => slug);
  return { roles: roles.map(({ name }) => name), permissions, held: holdPermissions(grants) };
}

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured({ name, limit, durationMs, async, account: number }: LimitRecord): AppliedLimit {
  const account = number as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, wire: null };
}
