import { type KeyRow, toReadKey } from './keyRows.ts';
import type { FormerSecret, KeyWithIdentity, PoisonedKey } from '../port/records.ts';
import type { KeyToDelete } from '../port/writes.ts';
import { withPermissions } from './permissions.ts';
import { type Params, placeholders, type SqlReader, type WriteStatement } from './query/statement.ts';
import { findAny, IS_LIVE, KEY_SELECT } from './query/queries.ts';
import { removeAllWords } from './query/searchIndex.ts';

/** Selects the rows with these ids and revisions. The cast is needed because PostgreSQL treats a parameter in VALUES as text. */
function among(keys: readonly KeyToDelete[], first: number): { sql: string; params: Params } {
  const rows = keys.map((_, i) => `($${first + i * 2}, CAST($${first + i * 2 + 1} AS bigint))`);
  return {
    sql: `(id, revision) IN (VALUES ${rows.join(', ')})`,
    params: keys.flatMap(({ id, expect }) => [id, expect]),
  };
}

export function retireKeys(keys: readonly KeyToDelete[], deletedAtMs: number): WriteStatement {
  const { sql, params } = among(keys, 2);
  return {
    sql: `UPDATE keys SET deleted_at_ms = $1, updated_at_ms = $1, revision = revision + 1 WHERE ${sql}`,
    params: [deletedAtMs, ...params],
    expects: keys.length,
  };
}

export function removeKeys(apiId: string, keys: readonly KeyToDelete[]): WriteStatement[] {
  const { sql, params } = among(keys, 1);
  const ids = keys.map(({ id }) => id);
  return [
    { sql: `DELETE FROM keys WHERE ${sql}`, params, expects: keys.length },
    { sql: `DELETE FROM former_secrets WHERE owner IN (${placeholders(ids.length)})`, params: ids, expects: null },
    ...removeAllWords(apiId, keys),
  ];
}

/** The number of keys of each of these identities, in the order of the identities. Uses the index keys_of_identity. */
export async function countKeysOfIdentities(reader: SqlReader, identityIds: readonly string[]): Promise<number[]> {
  if (identityIds.length === 0) return [];
  const sql = `SELECT k.identity_id AS id, count(*) AS total FROM keys k LEFT JOIN apis a ON a.id = k.api_id
    WHERE k.identity_id IN (${placeholders(identityIds.length)}) AND ${IS_LIVE} GROUP BY k.identity_id`;
  const rows = await reader.scan<{ id: string; total: number }>({ sql, params: [...identityIds] });
  const totals = new Map(rows.map(({ id, total }) => [id, total]));
  return identityIds.map((id) => totals.get(id) ?? 0);
}

/**
 * The columns that hold digests. Former secrets are read last, because a rotation moves a digest there from one of the others: a digest
 * that moves between two reads is found twice, but never missed.
 */
const COLUMNS = [
  { select: 'SELECT secret_digest AS digest FROM keys', column: 'secret_digest' },
  { select: 'SELECT secret_digest AS digest FROM root_keys', column: 'secret_digest' },
  { select: 'SELECT digest FROM former_secrets', column: 'digest' },
];

export async function findTakenDigests(reader: SqlReader, digests: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  for (const column of COLUMNS) {
    taken.push(...(await findAny<{ digest: string }>(reader, column, digests)).map(({ digest }) => digest));
  }
  return taken;
}

interface SecretRow {
  digest: string;
  owner: string;
  until_ms: number;
}

/** The former secrets of these keys or root keys, the one that ends first comes first. */
export async function listFormerSecrets(reader: SqlReader, owners: readonly string[]): Promise<FormerSecret[]> {
  const byOwner = { select: 'SELECT digest, owner, until_ms FROM former_secrets', column: 'owner' };
  const rows = await findAny<SecretRow>(reader, byOwner, owners);
  return rows.map(({ until_ms, ...row }) => ({ ...row, untilMs: until_ms })).toSorted((a, b) => a.untilMs - b.untilMs);
}

/** Nothing is told of a key that expired longer ago than this. */
const LONG_AGO_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Finds keys by their own alerts (index keys_expiring), by the alerts of their identities (identities_alerting) and by those of their plans
 * (identities_of_plan, keys_of_plan). CROSS JOIN keeps SQLite from going through all keys first.
 */
const EXPIRING_KEYS = `${KEY_SELECT} WHERE k.id IN (
    SELECT id FROM keys WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL AND expires_at_ms - expires_within_ms <= $1
    UNION ALL
    SELECT owned.id FROM identities owner CROSS JOIN keys owned
    WHERE owner.expires_within_ms IS NOT NULL AND owned.identity_id = owner.id AND owned.deleted_at_ms IS NULL
      AND owned.expires_within_ms IS NULL AND owned.told_expiry_ms IS NULL AND owned.expires_at_ms - owner.expires_within_ms <= $1
    UNION ALL
    SELECT owned.id FROM plans plan CROSS JOIN identities owner CROSS JOIN keys owned
    WHERE plan.expires_within_ms IS NOT NULL AND owner.plan_id = plan.id AND owner.expires_within_ms IS NULL
      AND owned.identity_id = owner.id AND owned.deleted_at_ms IS NULL AND owned.expires_within_ms IS NULL
      AND owned.told_expiry_ms IS NULL AND owned.expires_at_ms - plan.expires_within_ms <= $1
    UNION ALL
    SELECT holder.id FROM plans plan CROSS JOIN keys holder
    WHERE plan.expires_within_ms IS NOT NULL AND holder.plan_id = plan.id AND holder.deleted_at_ms IS NULL
      AND holder.expires_within_ms IS NULL AND holder.told_expiry_ms IS NULL AND holder.expires_at_ms - plan.expires_within_ms <= $1
  ) AND k.expires_at_ms > $1 - ${LONG_AGO_MS} AND ${IS_LIVE} ORDER BY k.id LIMIT $2`;

/**
 * Whether such a key may exist. This reads a few index entries and the plans. Most installations have none, so they skip the long query.
 */
const MAY_EXPIRE = `SELECT 1 AS found FROM (SELECT id FROM keys
    WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL AND expires_at_ms - expires_within_ms <= $1 LIMIT 1) own
  UNION ALL SELECT 1 FROM (SELECT id FROM identities WHERE expires_within_ms IS NOT NULL LIMIT 1) owners
  UNION ALL SELECT 1 FROM (SELECT id FROM plans WHERE expires_within_ms IS NOT NULL LIMIT 1) sold`;

/** Keys that expire soon and of which nothing was told yet. */
export async function listExpiringKeys(
  reader: SqlReader,
  nowMs: number,
  limit: number,
): Promise<readonly (KeyWithIdentity | PoisonedKey)[]> {
  if ((await reader.find({ sql: MAY_EXPIRE, params: [nowMs] })).length === 0) return [];
  const rows = await reader.scan<KeyRow>({ sql: EXPIRING_KEYS, params: [nowMs, limit] });
  return withPermissions(reader, rows.map(toReadKey));
}
