import type { Database } from 'bun:sqlite';

import type { DueCursor, DueOwner } from '../../port/storage.ts';

/** Found by the index accounts_due, in its order. An account of neither a key nor an identity has no refill. */
const DUE = `SELECT a.id AS account, a.due_at_ms AS dueAtMs, coalesce(k.id, i.id) AS owner
  FROM accounts a LEFT JOIN keys k ON k.credits_account = a.id LEFT JOIN identities i ON i.credits_account = a.id
  WHERE coalesce(k.id, i.id) IS NOT NULL AND a.due_at_ms > 0 AND a.due_at_ms <= ?1 AND (a.due_at_ms, a.id) > (?2, ?3)
  ORDER BY a.due_at_ms, a.id LIMIT ?4`;

/** Accounts whose refill is due, as the accounts table has them. */
export function readDueOwners(
  db: Database,
  dueUntilMs: number,
  limit: number,
  after: DueCursor | null,
): readonly DueOwner[] {
  return db.query(DUE).all(dueUntilMs, after?.dueAtMs ?? 0, after?.account ?? 0, limit) as DueOwner[];
}
