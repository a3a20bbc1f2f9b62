import type { KeyRecord } from '../../core/records.ts';
import type { KeyToDelete } from '../port/records.ts';
import { insert, listText, type Params, placeholders, type WriteStatement } from './statement.ts';

/** Selects the rows with these ids and revisions. The cast is needed because PostgreSQL takes a parameter in VALUES for text. */
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
  const words = keys.flatMap(({ id, words: all }) => all.map((word): [string, string] => [word, id]));
  const steps = Array.from({ length: Math.ceil(words.length / WORDS_PER_STATEMENT) }, (_, i) =>
    words.slice(i * WORDS_PER_STATEMENT, (i + 1) * WORDS_PER_STATEMENT),
  );
  return [
    { sql: `DELETE FROM keys WHERE ${sql}`, params, expects: keys.length },
    { sql: `DELETE FROM former_secrets WHERE owner IN (${placeholders(ids.length)})`, params: ids, expects: null },
    ...steps.map((step) => removePairs(apiId, step)),
  ];
}

/** Words in one statement, of many keys. */
const WORDS_PER_STATEMENT = 5_000;

function removePairs(apiId: string, pairs: readonly (readonly [word: string, keyId: string])[]): WriteStatement {
  const rows = pairs.map((_, i) => `($${i * 2 + 2}, $${i * 2 + 3})`);
  return {
    sql: `DELETE FROM key_words WHERE api_id = $1 AND (word, key_id) IN (VALUES ${rows.join(', ')})`,
    params: [apiId, ...pairs.flat()],
    expects: null,
  };
}

export function insertWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  return words.map((word) => insert('key_words', { api_id: apiId, key_id: id, word }));
}

/** A word may exist already: a program of an older version, which has no search index, can have changed the name in between. */
export function addWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const rows = words.map((_, i) => `($1, $2, $${i + 3})`);
  const sql = `INSERT INTO key_words (api_id, key_id, word) VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING`;
  return [{ sql, params: [apiId, id, ...words], expects: null }];
}

export function removeWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const sql = `DELETE FROM key_words WHERE api_id = $1 AND key_id = $2 AND word IN (${placeholders(words.length, 3)})`;
  return [{ sql, params: [apiId, id, ...words], expects: null }];
}

export function keyColumns(key: KeyRecord): Record<string, Params[number]> {
  return {
    id: key.id,
    api_id: key.apiId,
    identity_id: key.identityId,
    secret_digest: key.secretDigest,
    start: key.start,
    byte_length: key.byteLength,
    name: key.name,
    meta: key.meta,
    environment: key.environment,
    enabled: key.enabled ? 1 : 0,
    expires_at_ms: key.expiresAtMs,
    credits: key.credits === null ? null : JSON.stringify(key.credits),
    credits_account: key.credits?.account ?? null,
    limits: listText(key.limits),
    ip_allowlist: listText(key.ipAllowlist),
    roles: listText(key.roleIds),
    permissions: listText(key.permissionIds),
    generation: key.generation,
    created_at_ms: key.createdAtMs,
    updated_at_ms: key.updatedAtMs,
    deleted_at_ms: key.deletedAtMs,
    revision: key.revision,
  };
}
