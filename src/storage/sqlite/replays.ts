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
  readonly #retentionMs: number;
  readonly #select;
  readonly #count;
  /** The period that the partitions were last made ready for; null before the first replay. */
  #period: number | null;

  constructor(db: Database, retentionMs: number) {
    this.#retentionMs = retentionMs;
    const columns = 'SELECT request_digest, outcome FROM';
    const where = 'WHERE scope = ?1 AND id = ?2';
    this.#select = db.query(`${columns} replays_0 ${where} UNION ALL ${columns} replays_1 ${where}`);
    this.#count = db.query(`SELECT (SELECT count(*) FROM replays_0 WHERE scope = ?1) +
      (SELECT count(*) FROM replays_1 WHERE scope = ?1) AS live`);
    const stored = db.query("SELECT value FROM installation WHERE name = 'replay_period'").get() as {
      value: string;
    } | null;
    this.#period = stored === null ? null : Number(stored.value);
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

  /** The running period, and what has to be emptied before its first replay is stored. Never goes back. */
  rotation(nowMs: number): Rotation {
    const period = Math.max(Math.floor(nowMs / this.#retentionMs), this.#period ?? 0);
    const passed = this.#period === null ? 0 : period - this.#period;
    const emptied = passed === 0 ? [] : passed === 1 ? [period % 2] : [0, 1];
    return { period, partition: period % 2 === 0 ? 0 : 1, emptied, isDue: period !== this.#period };
  }

  rotated({ period, isDue }: Rotation): void {
    if (!isDue) return;
    this.#period = period;
    this.#live.clear();
  }
}

export interface Rotation {
  readonly period: number;
  readonly partition: 0 | 1;
  /** Partitions that held older periods. */
  readonly emptied: readonly number[];
  /** The period is not noted in the database yet. */
  readonly isDue: boolean;
}
