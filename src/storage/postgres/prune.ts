import { PRUNE_GRACE_MS } from '../port.ts';
import type { LedgerClock } from './clock.ts';
import { kindOf } from './failure.ts';
import type { Pool } from './pool.ts';

/** Rows that one step removes at the most. */
const STEP = 1000;

/** Steps in which windows are looked at in one turn. */
const WINDOW_STEPS = 10;

export interface PruneOptions {
  readonly retentionMs: number;
  /** The window that was looked at last. */
  readonly windowsFrom: number;
}

/** Removes what has ended; answers the window to go on from. Every node does it; two at the same time do no harm. */
export async function prune(
  pool: Pool,
  clock: LedgerClock,
  { retentionMs, windowsFrom }: PruneOptions,
): Promise<number> {
  const { rows } = await pool.query<{ now: number }>({ text: 'SELECT ledger_now_v1($1) AS now', values: [clock.said] });
  const nowMs = rows[0]?.now ?? 0;
  const endedByMs = nowMs - PRUNE_GRACE_MS;
  await rotateReplays(pool, nowMs, retentionMs);
  await removeRows(pool, 'edge_counts', 'reset_at_ms', endedByMs);
  await removeRows(pool, 'lanes', 'used_at_ms', endedByMs);
  await removeRows(pool, 'nodes', 'seen_at_ms', endedByMs);
  // What stands in the audit log stays.
  await removeRows(pool, 'changes', 'action IS NULL AND at_ms', endedByMs);
  await removeRows(pool, 'former_secrets', 'until_ms', endedByMs);
  await removeRows(pool, 'tally_marks', 'at_ms', endedByMs);
  return closeWindows(pool, endedByMs, windowsFrom);
}

/**
 * When the running partition has run for the retention, the other one is emptied and runs on: an idempotency key lives for at
 * least one retention. A clock that was set back starts the count anew.
 */
async function rotateReplays(pool: Pool, nowMs: number, retentionMs: number): Promise<void> {
  await pool.use(async (ask) => {
    await ask('BEGIN');
    try {
      const { rows } = await ask<{ partition: number; since_ms: number | null }>(
        'SELECT partition, since_ms FROM replay_partition FOR UPDATE',
      );
      const [running] = rows;
      const sinceMs = running?.since_ms ?? Infinity;
      if (nowMs < sinceMs) {
        await ask({ text: 'UPDATE replay_partition SET since_ms = $1', values: [nowMs] });
      } else if (nowMs >= sinceMs + retentionMs) {
        const next = running?.partition === 0 ? 1 : 0;
        // A dump may hold it for long, and spends would queue behind this: the next pass tries again.
        await ask(`SET LOCAL lock_timeout = '50ms'`);
        await ask(`TRUNCATE replays_${next}`);
        await ask({ text: 'UPDATE replay_partition SET partition = $1, since_ms = $2', values: [next, nowMs] });
      }
      await ask('COMMIT');
    } catch (error) {
      await ask('ROLLBACK').catch(() => {});
      if (kindOf(error) !== 'busy') throw error;
    }
  });
}

async function removeRows(pool: Pool, table: string, column: string, untilMs: number): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query({
      text: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${column} <= $1 LIMIT ${STEP} FOR UPDATE SKIP LOCKED))`,
      values: [untilMs],
    });
    if ((rowCount ?? 0) < STEP) return;
  }
}

/** Looks at a bounded number of windows, and answers where to go on the next time: there may be a million. */
async function closeWindows(pool: Pool, endedByMs: number, from: number): Promise<number> {
  let last = from;
  for (let step = 0; step < WINDOW_STEPS; step++) {
    const { rows } = await pool.query<{ accounts: number; last: number | null }>({
      text: `WITH step AS (SELECT account FROM adhoc_windows WHERE account > $1 ORDER BY account LIMIT ${STEP})
        SELECT count(*) AS accounts, max(account) AS last, ledger_close_windows_v1(array_agg(account), $2) FROM step`,
      values: [last, endedByMs],
    });
    if ((rows[0]?.accounts ?? 0) < STEP) return 0;
    last = rows[0]?.last ?? last;
  }
  return last;
}
