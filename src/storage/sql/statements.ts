import type { KeyRecord } from '../../core/records.ts';
import type { ApiQuery, KeyQuery, Page, RecordWrite } from '../port.ts';

/**
 * The management statements, in the SQL that both engines speak: parameters are $1, $2, ... in the order of their first use,
 * numbers are integers, structures are JSON text. What must be fast or exact is written by each engine for itself.
 */

export type Params = (string | number | null)[];

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

export const KEY_SELECT = `SELECT k.*, i.external_id, i.meta AS identity_meta, i.created_at_ms AS identity_created_at_ms
  FROM keys k LEFT JOIN identities i ON i.id = k.identity_id`;

export const FIND_KEY = `${KEY_SELECT} WHERE k.id = $1 AND k.deleted_at_ms IS NULL`;
export const FIND_API = 'SELECT * FROM apis WHERE id = $1';
export const FIND_IDENTITY = 'SELECT * FROM identities WHERE external_id = $1';
export const FIND_ROOT_KEY = 'SELECT * FROM root_keys WHERE secret_digest = $1';
export const LIST_ROOT_KEYS = 'SELECT * FROM root_keys ORDER BY id';

/** A page and how many there are in all: two statements with the same conditions. */
export interface Listing {
  readonly total: Statement;
  readonly page: Statement;
}

/** Pages by id over the index keys_of_api or keys_of_identity: a later page costs what the first one does. */
export function keyListing({ apiId, externalId, after, limit }: KeyQuery): Listing {
  const params: Params = [apiId];
  let where = 'k.deleted_at_ms IS NULL AND k.api_id = $1';
  if (externalId !== null) {
    where += ' AND k.identity_id = (SELECT id FROM identities WHERE external_id = $2)';
    params.push(externalId);
  }
  return listing('keys k', KEY_SELECT, 'k.id', where, params, after, limit);
}

export function apiListing({ ids, after, limit }: ApiQuery): Listing {
  const where = ids === null ? 'TRUE' : ids.length === 0 ? 'FALSE' : `id IN (${placeholders(ids.length)})`;
  return listing('apis', 'SELECT * FROM apis', 'id', where, [...(ids ?? [])], after, limit);
}

function listing(
  from: string,
  select: string,
  id: string,
  where: string,
  params: Params,
  after: string | null,
  limit: number,
): Listing {
  const [next, last] = [params.length + 1, params.length + 2];
  return {
    total: { sql: `SELECT count(*) AS total FROM ${from} WHERE ${where}`, params },
    page: {
      sql: `${select} WHERE ${where} AND ${id} > $${next} ORDER BY ${id} LIMIT $${last}`,
      // One more than asked for: it tells whether there is a next page.
      params: [...params, after ?? '', limit + 1],
    },
  };
}

export function toPage<T extends { id: string }>(rows: readonly T[], limit: number, total: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, total, cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** A write as a statement. `changesOne`: the record must still have the revision that the change was made from. */
export function writeStatement(write: RecordWrite): Statement & { readonly changesOne: boolean } {
  switch (write.kind) {
    case 'insertApi': {
      const { id, name, createdAtMs } = write.api;
      return insert('apis', { id, name, created_at_ms: createdAtMs });
    }
    case 'insertIdentity': {
      const { id, externalId, meta, createdAtMs } = write.identity;
      return insert('identities', { id, external_id: externalId, meta, created_at_ms: createdAtMs });
    }
    case 'insertKey':
      return insert('keys', keyColumns(write.key));
    case 'updateKey':
      return updateKey(write.key, write.expect);
    case 'removeKey':
      return {
        sql: 'DELETE FROM keys WHERE id = $1 AND revision = $2',
        params: [write.keyId, write.expect],
        changesOne: true,
      };
    case 'insertRootKey': {
      const { id, secretDigest, start, name, rights, createdAtMs, expiresAtMs, revokedAtMs } = write.rootKey;
      return insert('root_keys', {
        id,
        secret_digest: secretDigest,
        start,
        name,
        rights: JSON.stringify(rights),
        created_at_ms: createdAtMs,
        expires_at_ms: expiresAtMs,
        revoked_at_ms: revokedAtMs,
      });
    }
    case 'revokeRootKey':
      return {
        sql: 'UPDATE root_keys SET revoked_at_ms = $1 WHERE id = $2 AND revoked_at_ms IS NULL',
        params: [write.revokedAtMs, write.rootKeyId],
        changesOne: true,
      };
  }
}

function insert(table: string, columns: Record<string, Params[number]>): Statement & { readonly changesOne: boolean } {
  const names = Object.keys(columns);
  return {
    sql: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders(names.length)})`,
    params: Object.values(columns),
    changesOne: false,
  };
}

function updateKey(key: KeyRecord, expect: number): Statement & { readonly changesOne: boolean } {
  const columns = keyColumns(key);
  const names = Object.keys(columns);
  const set = names.map((name, i) => `${name} = $${i + 1}`).join(', ');
  return {
    sql: `UPDATE keys SET ${set} WHERE id = $${names.length + 1} AND revision = $${names.length + 2}`,
    params: [...Object.values(columns), key.id, expect],
    changesOne: true,
  };
}

function placeholders(count: number): string {
  return Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ');
}

function keyColumns(key: KeyRecord): Record<string, Params[number]> {
  return {
    id: key.id,
    api_id: key.apiId,
    identity_id: key.identityId,
    secret_digest: key.secretDigest,
    start: key.start,
    name: key.name,
    meta: key.meta,
    environment: key.environment,
    enabled: key.enabled ? 1 : 0,
    expires_at_ms: key.expiresAtMs,
    credits: key.credits === null ? null : JSON.stringify(key.credits),
    credits_account: key.credits?.account ?? null,
    limits: key.limits.length === 0 ? null : JSON.stringify(key.limits),
    ip_allowlist: key.ipAllowlist.length === 0 ? null : JSON.stringify(key.ipAllowlist),
    created_at_ms: key.createdAtMs,
    updated_at_ms: key.updatedAtMs,
    deleted_at_ms: key.deletedAtMs,
    revision: key.revision,
  };
}
