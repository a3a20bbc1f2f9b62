import { type AddressBlock, parseBlock } from '../../core/address.ts';
import { type HeldPermissions, holdPermissions } from '../../core/permissions.ts';
import type { CreditsRecord, IdentityRecord } from '../../core/records.ts';
import type { KeyWithIdentity } from '../../storage/port/records.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import { type AppliedLimit, asConfigured } from '../verify/appliedLimits.ts';
import type { OpenCount } from '../analytics/openCount.ts';

/** What a key may do, as it was when the key was looked up. */
export interface EntryAccess {
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly held: HeldPermissions;
}

/** The parts of a key that most keys do not have: kept apart, so that a million plain keys fit in memory. */
export interface KeyExtras {
  readonly name: string | null;
  readonly meta: string | null;
  readonly environment: string | null;
  readonly allowedBlocks: readonly AddressBlock[] | null;
  readonly access: EntryAccess | null;
  /** Until when the secret is valid that this entry was found by. Infinity = it was not replaced. */
  readonly secretUntilMs: number;
}

/** An identity as verification needs it: one for all cached keys of it. */
export interface IdentityEntry {
  readonly id: string;
  readonly externalId: string;
  readonly meta: string | null;
  readonly credits: CreditsRecord | null;
  /** null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  readonly revision: number;
  /** It has changed: the keys that hold it must be looked up anew. */
  isDropped: boolean;
}

/** A key as verification needs it. Replaced as a whole when the key changes. */
export interface KeyEntry {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly enabled: boolean;
  /** Infinity = never. */
  readonly expiresAtMs: number;
  readonly identity: IdentityEntry | null;
  readonly credits: CreditsRecord | null;
  /** null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** The accounts of its limits are counted from here: many packed keys share their limits. 0 = from nothing. */
  readonly accountsFrom: number;
  /** Where it stands among the packed keys; -1 = it is kept as it is. */
  readonly place: number;
  /** Counts its verifications, while it is kept as it is. */
  openCount: OpenCount | null;
  /** Where its own local limits are counted, once that was looked up. */
  local: LocalOwner | null;
  /** What the wire layer made of the descriptive fields; made once, on the first answer. */
  wire: WireText | null;
}

/** Part of an answer, and whether its characters are bytes. */
export interface WireText {
  readonly text: string;
  readonly isAscii: boolean;
}

export function toKeyEntry(found: KeyWithIdentity, apiId: string, identity: IdentityEntry | null): KeyEntry {
  const { key } = found;
  return {
    id: key.id,
    apiId,
    revision: key.revision,
    enabled: key.enabled,
    expiresAtMs: key.expiresAtMs ?? Infinity,
    identity,
    credits: key.credits,
    limits: key.limits.length === 0 ? null : key.limits.map(asConfigured),
    accountsFrom: 0,
    extras: toExtras(found),
    place: -1,
    openCount: null,
    local: null,
    wire: null,
  };
}

export function toIdentityEntry({ id, externalId, meta, credits, limits, revision }: IdentityRecord): IdentityEntry {
  const applied = limits.length === 0 ? null : limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  return { id, externalId, meta, credits, limits: applied, revision, isDropped: false };
}

export function toExtras({ key, access, secretUntilMs }: KeyWithIdentity): KeyExtras | null {
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

function toEntryAccess({ roles, grants }: NonNullable<KeyWithIdentity['access']>): EntryAccess {
  const permissions = grants.map(({ slug }) => slug);
  return { roles: roles.map(({ name }) => name), permissions, held: holdPermissions(grants) };
}
