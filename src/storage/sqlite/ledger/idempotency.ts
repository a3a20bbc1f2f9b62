import type { Database } from 'bun:sqlite';

import type { IdempotencyKey, StoredReplay } from '../../../core/spend.ts';

/** Scopes whose number of live replays is remembered; beyond it they are counted again. */
const MAX_COUNTED_SCOPES = 10_000;

interface ReplayRowRead {
  request_digest: string;
  outcome: string;
}

/**
 * Idempotency keys, in two partitions. New ones go to the running one; when that has run for the retention, the other one is
 * emptied and runs on: a key lives for at least one retention, and for two while keys keep coming. What is noted is since when
 * which one runs, so the retention can be changed, and a clock that was ahead does not keep them for ever.
 */
export class Replays {
  readonly #live = new Map<string, number>();
  readonly #retentionMs: number;
  readonly #select;
  readonly #count;
  /** null before the first replay. */
  #running: Running | null;

  constructor(db: Database, retentionMs: number) {
    this.#retentionMs = retentionMs;
    const columns = 'SELECT request_digest, outcome FROM';
    const where = 'WHERE scope = ?1 AND id = ?2';
    this.#select = db.query(`${columns} idempotency_0 ${where} UNION ALL ${columns} idempotency_1 ${where}`);
    this.#count = db.query(`SELECT (SELECT count(*) FROM idempotency_0 WHERE scope = ?1) +
      (SELECT count(*) FROM idempotency_1 WHERE scope = ?1) AS live`);
    const noted = db.query("SELECT value FROM installation WHERE name = 'idempotency_partition'").get() as {
      value: string;
    } | null;
    this.#running = noted === null ? null : (JSON.parse(noted.value) as Running);
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

  /** Where a replay goes now, and what has to happen before it does. */
  rotation(nowMs: number): Rotation {
    const running = this.#running;
    if (running === null) return { running: { partition: 0, sinceMs: nowMs }, empties: false, isDue: true };
    // Set back by more than a correction: it counts anew from here.
    if (nowMs < running.sinceMs) return { running: { ...running, sinceMs: nowMs }, empties: false, isDue: true };
    if (nowMs < running.sinceMs + this.#retentionMs) return { running, empties: false, isDue: false };
    const partition = running.partition === 0 ? 1 : 0;
    return { running: { partition, sinceMs: nowMs }, empties: true, isDue: true };
  }

  rotated({ running, isDue }: Rotation): void {
    if (!isDue) return;
    this.#running = running;
    this.#live.clear();
  }
}

interface Running {
  readonly partition: 0 | 1;
  readonly sinceMs: number;
}

export interface Rotation {
  readonly running: Running;
  /** The partition that runs on held older replays. */
  readonly empties: boolean;
  /** What runs is not noted in the database yet. */
  readonly isDue: boolean;
}
