import type { KeyWithIdentity, PoisonedKey } from '../../port/records.ts';
import { withPermissions } from './keyPermissions.ts';
import { type KeyRow, toReadKey } from './keyRows.ts';
import { IS_LIVE, KEY_SELECT } from '../query/queries.ts';
import type { SqlReader } from '../query/statement.ts';

/** Of a key that expired long ago nothing is told any more. */
const LONG_AGO_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * By their own alerts, over the index keys_expiring, and by those of their identities, over the index identities_alerting, or of
 * their plans, over the indexes identities_of_plan and keys_of_plan. CROSS JOIN keeps SQLite from going through all keys first.
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

/** Whether such a key may exist. It reads a few index entries and the plans. Most installations have none, so the long query is skipped. */
const MAY_EXPIRE = `SELECT 1 AS found FROM (SELECT id FROM keys
    WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL AND expires_at_ms - expires_within_ms <= $1 LIMIT 1) own
  UNION ALL SELECT 1 FROM (SELECT id FROM identities WHERE expires_within_ms IS NOT NULL LIMIT 1) owners
  UNION ALL SELECT 1 FROM (SELECT id FROM plans WHERE expires_within_ms IS NOT NULL LIMIT 1) sold`;

/** Keys that are about to expire and of which nothing was told yet. */
export async function listExpiringKeys(
  reader: SqlReader,
  nowMs: number,
  limit: number,
): Promise<readonly (KeyWithIdentity | PoisonedKey)[]> {
  if ((await reader.find({ sql: MAY_EXPIRE, params: [nowMs] })).length === 0) return [];
  const rows = await reader.scan<KeyRow>({ sql: EXPIRING_KEYS, params: [nowMs, limit] });
  return withPermissions(reader, rows.map(toReadKey));
}
