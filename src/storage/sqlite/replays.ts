import type { Database } from 'bun:sqlite';

import type { IdempotencyKey, StoredReplay } from '../../core/spend.ts';

/** Scopes whose number of live replays is remembered; beyond it they are counted again. */
const MAX_COUNTED_SCOPES = 10_000;

interface ReplayRowRead {
  request_digest: string;
  outcome: string;
}

/**
 * Idempotency keys, in two partitions of one retention period each. New ones go to the partition of the running period;
 * when a period begins, the partition that it takes over is emptied: a key lives for at least one period, at most two.
 */
export class Replays {
  readonly #live = new Map<string, number>();
  readonly #select;
  readonly #count;
  #period: number;

  constructor(db: Database) {
    const columns = 'SELECT request_digest, outcome FROM';
    const where = 'WHERE scope = ?1 AND id = ?2';
    this.#select = db.query(`${columns} replays_0 ${where} UNION ALL ${columns} replays_1 ${where}`);
    this.#count = db.query(`SELECT (SELECT count(*) FROM replays_0 WHERE scope = ?1) +
      (SELECT count(*) FROM replays_1 WHERE scope = ?1) AS live`);
    const stored = db.query("SELECT value FROM installation WHERE name = 'replay_period'").get() as {
      value: string;
    } | null;
    this.#period = stored === null ? 0 : Number(stored.value);
  }

  get partition(): 0 | 1 {
    return this.#period % 2 === 0 ? 0 : 1;
  }

  find(key: IdempotencyKey): StoredReplay | undefined {
    const row = this.#select.get(key.scope, key.id) as ReplayRowRead | null;
    if (row === null) return undefined;
    return { requestDigest: row.request_digest, ...(JSON.parse(row.outcome) as Omit<StoredReplay, 'requestDigest'>) };
  }

  live(scope: string): number {
    let live = this.#live.get(scope);
    if (live === undefined) {
      live = (this.#count.get(scope) as { live: number }).live;
      if (this.#live.size >= MAX_COUNTED_SCOPES) this.#live.clear();
      this.#live.set(scope, live);
    }
    return live;
  }

  committed(scope: string): void {
    const live = this.#live.get(scope);
    if (live !== undefined) this.#live.set(scope, live + 1);
  }

  /** The period that should run and the partitions that it leaves behind; null when it runs already. Never goes back. */
  dueRotation(nowMs: number, retentionMs: number): { period: number; emptied: number[] } | null {
    const period = Math.floor(nowMs / retentionMs);
    if (period <= this.#period) return null;
    return { period, emptied: period === this.#period + 1 ? [period % 2] : [0, 1] };
  }

  rotated(period: number): void {
    this.#period = period;
    this.#live.clear();
  }
}
