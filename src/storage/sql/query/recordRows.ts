import type {
  ApiRecord,
  DefaultLimit,
  NamespaceRecord,
  OverrideRecord,
  PermissionRecord,
  RoleRecord,
  RootKeyRecord,
} from '../../../core/records.ts';
import type { StoredEntry } from '../../port/auditEntries.ts';
import type { FoundRole } from '../../port/records.ts';
import { readTexts } from './columns.ts';

/** Rows of the tables of both engines, and the records that they become. */

/** Leaves rows that cannot be read out of a list. Asking for such a record by itself fails. */
export function readableOf<R, T>(rows: readonly R[], toRecord: (row: R) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [toRecord(row)];
    } catch {
      return [];
    }
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

/** A role whose permissions cannot be read still exists: its name is taken, and a request can name it. */
export function toFoundRole(row: RoleRow): FoundRole {
  try {
    return { ...toRole(row), broken: null };
  } catch (error) {
    const broken = error instanceof Error ? error.message : String(error);
    return { ...toRole({ ...row, permissions: null }), broken };
  }
}

export interface NamespaceRow {
  id: string;
  name: string;
  patterns_revision: number;
  created_at_ms: number;
}

export function toNamespace({ id, name, patterns_revision, created_at_ms }: NamespaceRow): NamespaceRecord {
  return { id, name, patternsRevision: patterns_revision, createdAtMs: created_at_ms };
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
  revision: number;
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
    revision: row.revision,
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

export interface EntryRow {
  number: number;
  at_ms: number;
  actor: string;
  action: string;
  target: string;
  before_json: string | null;
  after_json: string | null;
  origin: string | null;
  request_id: string | null;
  via: 'dashboard' | 'portal' | null;
}

export function toEntry(row: EntryRow): StoredEntry {
  return {
    number: row.number,
    atMs: row.at_ms,
    actor: row.actor,
    action: row.action,
    target: row.target,
    before: row.before_json,
    after: row.after_json,
    origin: row.origin,
    requestId: row.request_id,
    via: row.via,
  };
}
