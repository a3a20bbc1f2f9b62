import { alertsOf } from '../../../core/alerts.ts';
import type { IdentityRecord, KeyRecord } from '../../../core/records.ts';
import type { PoisonedKey } from '../../port/records.ts';
import { readCredits, readInstant, readLimits, readMeta, readPlanMove, readTexts } from '../query/columns.ts';

/** A row of the keys table of both engines, joined with its identity. */
export interface KeyRow {
  id: string;
  api_id: string;
  identity_id: string | null;
  secret_digest: string;
  start: string;
  byte_length: number | null;
  name: string | null;
  meta: string | null;
  environment: string | null;
  enabled: number;
  expires_at_ms: number | null;
  credits: string | null;
  limits: string | null;
  ip_allowlist: string | null;
  plan_id: string | null;
  plan_move: string | null;
  expires_within_ms: number | null;
  credits_below: number | null;
  told_expiry_ms: number | null;
  roles: string | null;
  permissions: string | null;
  generation: number;
  created_at_ms: number;
  updated_at_ms: number | null;
  deleted_at_ms: number | null;
  revision: number;
  external_id: string | null;
  identity_name: string | null;
  identity_meta: string | null;
  identity_enabled: number | null;
  identity_max_keys: number | null;
  identity_plan_id: string | null;
  identity_plan_move: string | null;
  identity_expires_within_ms: number | null;
  identity_credits_below: number | null;
  identity_credits: string | null;
  identity_limits: string | null;
  identity_created_at_ms: number | null;
  identity_updated_at_ms: number | null;
  identity_revision: number | null;
  secret_until_ms: number | null;
  /** The digest that was asked for, if it is that of a former secret. */
  asked_digest?: string;
}

function readKey(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    apiId: row.api_id,
    identityId: row.identity_id,
    secretDigest: row.secret_digest,
    start: row.start,
    byteLength: row.byte_length,
    name: row.name,
    meta: readMeta(row.meta),
    environment: row.environment,
    enabled: row.enabled === 1,
    expiresAtMs: readInstant(row.expires_at_ms),
    credits: readCredits(row.credits),
    limits: readLimits(row.limits),
    ipAllowlist: readTexts(row.ip_allowlist, 'ipAllowlist'),
    planId: row.plan_id,
    planMove: readPlanMove(row.plan_move),
    alerts: alertsOf(row.expires_within_ms, row.credits_below),
    toldExpiryMs: row.told_expiry_ms,
    roleIds: readTexts(row.roles, 'roles'),
    permissionIds: readTexts(row.permissions, 'permissions'),
    generation: row.generation,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    deletedAtMs: row.deleted_at_ms,
    revision: row.revision,
  };
}

/** A key with its identity. Its roles and permissions are read separately. */
export interface ReadKey {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  readonly secretUntilMs: number | null;
}

/** A row that cannot be read affects only its own key, and the error names the key's id. */
export function toReadKey(row: KeyRow): ReadKey | PoisonedKey {
  try {
    return { key: readKey(row), identity: readJoinedIdentity(row), secretUntilMs: row.secret_until_ms };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const { api_id: apiId, secret_digest: secretDigest, generation, revision } = row;
    return { poisoned: row.id, apiId, secretDigest, generation, revision, reason };
  }
}

function readJoinedIdentity(row: KeyRow): IdentityRecord | null {
  if (row.identity_id === null || row.external_id === null) return null;
  return toIdentity({
    id: row.identity_id,
    external_id: row.external_id,
    name: row.identity_name,
    meta: row.identity_meta,
    enabled: row.identity_enabled ?? 0,
    max_keys: row.identity_max_keys,
    plan_id: row.identity_plan_id,
    plan_move: row.identity_plan_move,
    expires_within_ms: row.identity_expires_within_ms,
    credits_below: row.identity_credits_below,
    credits: row.identity_credits,
    limits: row.identity_limits,
    created_at_ms: row.identity_created_at_ms ?? 0,
    updated_at_ms: row.identity_updated_at_ms,
    revision: row.identity_revision ?? 0,
  });
}

export interface IdentityRow {
  id: string;
  external_id: string;
  name: string | null;
  meta: string | null;
  enabled: number;
  max_keys: number | null;
  plan_id: string | null;
  plan_move: string | null;
  expires_within_ms: number | null;
  credits_below: number | null;
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
    name: row.name,
    meta: readMeta(row.meta),
    enabled: row.enabled === 1,
    maxKeys: row.max_keys,
    planId: row.plan_id,
    planMove: readPlanMove(row.plan_move),
    alerts: alertsOf(row.expires_within_ms, row.credits_below),
    credits: readCredits(row.credits),
    limits: readLimits(row.limits),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    revision: row.revision,
  };
}
