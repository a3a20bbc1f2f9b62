import type { KeyToDelete } from '../../port/writes.ts';
import { removeAllWords } from '../query/searchIndex.ts';
import { type Params, placeholders, type WriteStatement } from '../query/statement.ts';

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
  return [
    { sql: `DELETE FROM keys WHERE ${sql}`, params, expects: keys.length },
    { sql: `DELETE FROM former_secrets WHERE owner IN (${placeholders(ids.length)})`, params: ids, expects: null },
    ...removeAllWords(apiId, keys),
  ];
}
