import { isTimeZone } from '../../core/calendar.ts';
import type {
  ApiRecord,
  CreditsRecord,
  DefaultLimit,
  IdentityRecord,
  KeyRecord,
  LimitRecord,
  NamespaceRecord,
  OverrideRecord,
  PermissionRecord,
  RoleRecord,
  RootKeyRecord,
} from '../../core/records.ts';
import type { PoisonedKey } from '../recordsPort.ts';

/** Rows as the tables of both engines hold them, and the records they stand for. */

export interface KeyRow {
  id: string;
  api_id: string;
  identity_id: string | null;
  secret_digest: string;
  start: string;
  name: string | null;
  meta: string | null;
  environment: string | null;
  enabled: number;
  expires_at_ms: number | null;
  credits: string | null;
  limits: string | null;
  ip_allowlist: string | null;
  roles: string | null;
  permissions: string | null;
  generation: number;
  created_at_ms: number;
  updated_at_ms: number | null;
  deleted_at_ms: number | null;
  revision: number;
  external_id: string | null;
  identity_meta: string | null;
  identity_credits: string | null;
  identity_limits: string | null;
  identity_created_at_ms: number | null;
  identity_updated_at_ms: number | null;
  identity_revision: number | null;
  secret_until_ms: number | null;
  /** The secret that was asked for, where it is not the present one. */
  asked_digest?: string;
}

const NO_LIMITS: readonly LimitRecord[] = [];
const NO_TEXTS: readonly string[] = [];

class UnreadableRow extends Error {}

function require(holds: boolean, what: string): void {
  if (!holds) throw new UnreadableRow(`${what} cannot be read`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function readCredits(text: string | null): CreditsRecord | null {
  if (text === null) return null;
  const credits = JSON.parse(text) as CreditsRecord;
  require(isCount(credits.account), 'credits');
  const refill = credits.refill;
  if (refill !== null) {
    require(isCount(refill.amount) && (refill.max === null || isCount(refill.max)), 'refill');
    require(refill.interval === 'daily' || refill.interval === 'monthly', 'refill interval');
    require(isKnownZone(refill.timezone) && (refill.mode === 'restore' || refill.mode === 'add'), 'refill');
  }
  return credits;
}

/** Zones that were seen to exist: asking the calendar takes longer than reading the rest of a key. */
const knownZones = new Set(['UTC']);

function isKnownZone(zone: unknown): boolean {
  if (typeof zone !== 'string') return false;
  if (!knownZones.has(zone) && isTimeZone(zone)) knownZones.add(zone);
  return knownZones.has(zone);
}

function readLimits(text: string | null): readonly LimitRecord[] {
  if (text === null) return NO_LIMITS;
  const limits = JSON.parse(text) as LimitRecord[];
  require(Array.isArray(limits), 'limits');
  for (const limit of limits) {
    require(typeof limit.name === 'string' && isCount(limit.limit) && isCount(limit.durationMs), 'limits');
    require(limit.durationMs > 0 && (limit.async ? limit.account === null : isCount(limit.account)), 'limits');
  }
  return limits;
}

function readTexts(text: string | null, what: string): readonly string[] {
  if (text === null) return NO_TEXTS;
  const list = JSON.parse(text) as unknown;
  require(Array.isArray(list) && list.every((entry) => typeof entry === 'string'), what);
  return list as string[];
}

function readMeta(text: string | null): string | null {
  if (text !== null) {
    const value = JSON.parse(text) as unknown;
    require(typeof value === 'object' && value !== null && !Array.isArray(value), 'meta');
  }
  return text;
}

function readInstant(ms: number | null): number | null {
  require(ms === null || isCount(ms), 'expires');
  return ms;
}

function readKey(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    apiId: row.api_id,
    identityId: row.identity_id,
    secretDigest: row.secret_digest,
    start: row.start,
    name: row.name,
    meta: readMeta(row.meta),
    environment: row.environment,
    enabled: row.enabled === 1,
    expiresAtMs: readInstant(row.expires_at_ms),
    credits: readCredits(row.credits),
    limits: readLimits(row.limits),
    ipAllowlist: readTexts(row.ip_allowlist, 'ipAllowlist'),
    roleIds: readTexts(row.roles, 'roles'),
    permissionIds: readTexts(row.permissions, 'permissions'),
    generation: row.generation,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    deletedAtMs: row.deleted_at_ms,
    revision: row.revision,
  };
}

/** A key with its identity; what its roles and permissions stand for is read apart. */
export interface ReadKey {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  readonly secretUntilMs: number | null;
}

/** A row that cannot be read harms its own key only, and says so by the key's id. */
export function toReadKey(row: KeyRow): ReadKey | PoisonedKey {
  try {
    return { key: readKey(row), identity: readJoinedIdentity(row), secretUntilMs: row.secret_until_ms };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { poisoned: row.id, apiId: row.api_id, secretDigest: row.secret_digest, revision: row.revision, reason };
  }
}

function readJoinedIdentity(row: KeyRow): IdentityRecord | null {
  if (row.identity_id === null || row.external_id === null) return null;
  return toIdentity({
    id: row.identity_id,
    external_id: row.external_id,
    meta: row.identity_meta,
    credits: row.identity_credits,
    limits: row.identity_limits,
    created_at_ms: row.identity_created_at_ms ?? 0,
    updated_at_ms: row.identity_updated_at_ms,
    revision: row.identity_revision ?? 0,
  });
}

export interface ApiRow {
  id: string;
  name: string;
  default_prefix: string | null;
  default_byte_length: number | null;
  default_limit: string | null;
  delete_protected: number;
  generation: number;
  purges_below: number;
  created_at_ms: number;
  updated_at_ms: number | null;
  deleted_at_ms: number | null;
  revision: number;
}

export function toApi(row: ApiRow): ApiRecord {
  return {
    id: row.id,
    name: row.name,
    defaultPrefix: row.default_prefix,
    defaultByteLength: row.default_byte_length,
    defaultLimit: row.default_limit === null ? null : (JSON.parse(row.default_limit) as DefaultLimit),
    isDeleteProtected: row.delete_protected === 1,
    generation: row.generation,
    purgesBelow: row.purges_below,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    deletedAtMs: row.deleted_at_ms,
    revision: row.revision,
  };
}

export interface IdentityRow {
  id: string;
  external_id: string;
  meta: string | null;
  credits: string | null;
  limits: string | null;
  created_at_ms: number;
  updated_at_ms: number | null;
  revision: number;
}

export function toIdentity(row: IdentityRow): IdentityRecord {
  return {
    id: row.id,
    externalId: row.external_id,
    meta: readMeta(row.meta),
    credits: readCredits(row.credits),
    limits: readLimits(row.limits),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    revision: row.revision,
  };
}

export interface PermissionRow {
  id: string;
  name: string;
  slug: string;
  description: string | null;
  created_at_ms: number;
}

export function toPermission({ created_at_ms, ...row }: PermissionRow): PermissionRecord {
  return { ...row, createdAtMs: created_at_ms };
}

export interface RoleRow {
  id: string;
  name: string;
  description: string | null;
  permissions: string | null;
  created_at_ms: number;
  revision: number;
}

export function toRole({ permissions, created_at_ms, ...row }: RoleRow): RoleRecord {
  return { ...row, permissionIds: readTexts(permissions, 'permissions'), createdAtMs: created_at_ms };
}

export interface NamespaceRow {
  id: string;
  name: string;
  created_at_ms: number;
}

export function toNamespace({ id, name, created_at_ms }: NamespaceRow): NamespaceRecord {
  return { id, name, createdAtMs: created_at_ms };
}

export interface OverrideRow {
  id: string;
  namespace_id: string;
  identifier: string;
  max_count: number;
  duration_ms: number;
  async: number;
  created_at_ms: number;
  updated_at_ms: number | null;
}

export function toOverride(row: OverrideRow): OverrideRecord {
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    identifier: row.identifier,
    limit: row.max_count,
    durationMs: row.duration_ms,
    async: row.async === 1,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export interface RootKeyRow {
  id: string;
  secret_digest: string;
  start: string;
  name: string | null;
  rights: string;
  created_at_ms: number;
  expires_at_ms: number | null;
  revoked_at_ms: number | null;
}

/** A root key whose rights cannot be read has none. */
function readRights(text: string): string[] {
  try {
    const rights = JSON.parse(text) as unknown;
    return Array.isArray(rights) ? rights.filter((right) => typeof right === 'string') : [];
  } catch {
    return [];
  }
}

export function toRootKey(row: RootKeyRow): RootKeyRecord {
  return {
    id: row.id,
    secretDigest: row.secret_digest,
    start: row.start,
    name: row.name,
    rights: readRights(row.rights),
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    revokedAtMs: row.revoked_at_ms,
  };
}
