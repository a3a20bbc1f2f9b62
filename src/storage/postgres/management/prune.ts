import { PRUNE_GRACE_MS } from '../../port/storage.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { kindOf } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';

/** The most rows that one step removes. */
const STEP = 1000;

/** Tables whose rows are removed when the time in a column has passed. Tables that can be large have an index on that column. */
const ENDED_BY = [
  ['local_counts', 'reset_at_ms'],
  ['committers', 'used_at_ms'],
  ['nodes', 'seen_at_ms'],
  ['changes', 'at_ms'],
  ['former_secrets', 'until_ms'],
  ['sessions', 'until_ms'],
  ['portal_sessions', 'until_ms'],
  ['count_marks', 'at_ms'],
] as const;

/** Steps of one turn that check windows. */
const WINDOW_STEPS = 10;

interface PruneOptions {
  readonly retentionMs: number;
  /** The window that was looked at last. */
  readonly windowsFrom: number;
}

interface Pruned {
  /** The window to continue from. */
  readonly windowsFrom: number;
  readonly failures: readonly unknown[];
}

/** Removes what has ended. If one part fails, the others still run. All nodes may prune at the same time. */
export async function prune(
  pool: Pool,
  clock: LedgerClock,
  { retentionMs, windowsFrom }: PruneOptions,
): Promise<Pruned> {
  const { rows: answer } = await pool.query<{ now: number }>({
    text: 'SELECT ledger_now_v1($1) AS now',
    values: [clock.givenMs],
  });
  const nowMs = answer[0]?.now ?? 0;
  const endedByMs = nowMs - PRUNE_GRACE_MS;
  let nextWindow = windowsFrom;
  const parts: readonly (() => Promise<void>)[] = [
    () => rotateIdempotency(pool, nowMs, retentionMs),
    ...ENDED_BY.map((rows) => () => removeRows(pool, rows, endedByMs)),
    async () => {
      nextWindow = await closeWindows(pool, endedByMs, windowsFrom);
    },
  ];
  const failures: unknown[] = [];
  for (const part of parts) await part().catch((error: unknown) => failures.push(error));
  return { windowsFrom: nextWindow, failures };
}

/**
 * When the running partition has run for one retention, the other one is emptied and takes over: so an idempotency key lives for at least
 * one retention. If the clock was set back, the time counts from now.
 */
async function rotateIdempotency(pool: Pool, nowMs: number, retentionMs: number): Promise<void> {
  await pool.use(async (ask) => {
    await ask('BEGIN');
    try {
      const { rows } = await ask<{ partition: number; since_ms: number | null }>(
        'SELECT partition, since_ms FROM idempotency_partition FOR UPDATE',
      );
      const [running] = rows;
      const sinceMs = running?.since_ms ?? Infinity;
      if (nowMs < sinceMs) {
        await ask({ text: 'UPDATE idempotency_partition SET since_ms = $1', values: [nowMs] });
      } else if (nowMs >= sinceMs + retentionMs) {
        const next = running?.partition === 0 ? 1 : 0;
        // A dump may lock the table for long, and spends would queue behind this statement. So it gives up, and the next turn tries again.
        await ask(`SET LOCAL lock_timeout = '50ms'`);
        await ask(`TRUNCATE idempotency_${next}`);
        await ask({ text: 'UPDATE idempotency_partition SET partition = $1, since_ms = $2', values: [next, nowMs] });
      }
      await ask('COMMIT');
    } catch (error) {
      await ask('ROLLBACK').catch(() => {});
      if (kindOf(error) !== 'busy') throw error;
    }
  });
}

async function removeRows(pool: Pool, [table, column]: readonly [string, string], untilMs: number): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.write({
      text: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${column} <= $1 LIMIT ${STEP} FOR UPDATE SKIP LOCKED))`,
      values: [untilMs],
    });
    if ((rowCount ?? 0) < STEP) return;
  }
}

/** Checks a bounded number of windows, because there may be a million, and returns where to continue the next time. */
async function closeWindows(pool: Pool, endedByMs: number, from: number): Promise<number> {
  let last = from;
  for (let step = 0; step < WINDOW_STEPS; step++) {
    const { rows } = await pool.write<{ accounts: number; last: number | null }>({
      text: `WITH step AS (SELECT account FROM adhoc_windows WHERE account > $1 ORDER BY account LIMIT ${STEP})
        SELECT count(*) AS accounts, max(account) AS last, ledger_close_windows_v1(array_agg(account), $2) FROM step`,
      values: [last, endedByMs],
    });
    if ((rows[0]?.accounts ?? 0) < STEP) return 0;
    last = rows[0]?.last ?? last;
  }
  return last;
}
