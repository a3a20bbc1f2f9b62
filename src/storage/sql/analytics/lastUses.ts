import { StorageUnavailable } from '../../port/storage.ts';
import { findAny } from '../query/findAny.ts';
import type { SqlReader } from '../query/statement.ts';

const BY_KEY = { select: 'SELECT key_id, last_used_at_ms FROM key_uses', column: 'key_id' };

/** When each of these keys was last verified. On one machine this is in analytics.db, which can fail by itself. */
export async function readLastUses(reader: SqlReader, keyIds: readonly string[]): Promise<(number | null)[]> {
  try {
    const rows = await findAny<{ key_id: string; last_used_at_ms: number }>(reader, BY_KEY, keyIds);
    const uses = new Map(rows.map((row) => [row.key_id, row.last_used_at_ms]));
    return keyIds.map((id) => uses.get(id) ?? null);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageUnavailable(`The last uses of keys cannot be read (${reason}).`);
  }
}
