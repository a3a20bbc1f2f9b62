import { isTimeZone } from '../../core/calendar.ts';
import type {
  ApiRecord,
  CreditsRecord,
  IdentityRecord,
  KeyRecord,
  LimitRecord,
  RootKeyRecord,
} from '../../core/records.ts';
import type { KeyWithIdentity, PoisonedKey } from '../port.ts';

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
  created_at_ms: number;
  updated_at_ms: number | null;
  deleted_at_ms: number | null;
  revision: number;
  external_id: string | null;
  identity_meta: string | null;
  identity_created_at_ms: number | null;
}

const NO_LIMITS: readonly LimitRecord[] = [];
const NO_ADDRESSES: readonly string[] = [];

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

function readAllowlist(text: string | null): readonly string[] {
  if (text === null) return NO_ADDRESSES;
  const list = JSON.parse(text) as unknown;
  require(Array.isArray(list) && list.every((entry) => typeof entry === 'string'), 'ipAllowlist');
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
    ipAllowlist: readAllowlist(row.ip_allowlist),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    deletedAtMs: row.deleted_at_ms,
    revision: row.revision,
  };
}

/** A row that cannot be read harms its own key only, and says so by the key's id. */
export function toKeyWithIdentity(row: KeyRow): KeyWithIdentity | PoisonedKey {
  try {
    const identity: IdentityRecord | null =
      row.identity_id === null || row.external_id === null
        ? null
        : {
            id: row.identity_id,
            externalId: row.external_id,
            meta: readMeta(row.identity_meta),
            createdAtMs: row.identity_created_at_ms ?? 0,
          };
    return { key: readKey(row), identity };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { poisoned: row.id, apiId: row.api_id, secretDigest: row.secret_digest, revision: row.revision, reason };
  }
}

export interface ApiRow {
  id: string;
  name: string;
  created_at_ms: number;
}

export function toApi(row: ApiRow): ApiRecord {
  return { id: row.id, name: row.name, createdAtMs: row.created_at_ms };
}

export interface IdentityRow {
  id: string;
  external_id: string;
  meta: string | null;
  created_at_ms: number;
}

export function toIdentity(row: IdentityRow): IdentityRecord {
  return { id: row.id, externalId: row.external_id, meta: row.meta, createdAtMs: row.created_at_ms };
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
