import { IS_LIVE } from '../query/queries.ts';
import { placeholders, type SqlReader } from '../query/statement.ts';

/** How many keys each of these identities has, in their order. Uses the index keys_of_identity. */
export async function countKeysOfIdentities(reader: SqlReader, identityIds: readonly string[]): Promise<number[]> {
  if (identityIds.length === 0) return [];
  const sql = `SELECT k.identity_id AS id, count(*) AS total FROM keys k LEFT JOIN apis a ON a.id = k.api_id
    WHERE k.identity_id IN (${placeholders(identityIds.length)}) AND ${IS_LIVE} GROUP BY k.identity_id`;
  const rows = await reader.scan<{ id: string; total: number }>({ sql, params: [...identityIds] });
  const totals = new Map(rows.map(({ id, total }) => [id, total]));
  return identityIds.map((id) => totals.get(id) ?? 0);
}
