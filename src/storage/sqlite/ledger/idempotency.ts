import type { Database } from 'bun:sqlite';

import type { IdempotencyKey, RememberedAnswer } from '../../../core/spend.ts';
import type { Rotation } from '../writer/commit.ts';

/** Scopes whose number of live answers is kept in memory; others are counted again. */
const MAX_COUNTED_SCOPES = 10_000;

interface StoredRow {
  request_digest: string;
  outcome: string;
}

/**
 * Answers that are remembered under idempotency keys, in two partitions. New answers go to the running partition. After one
 * retention the other partition is emptied and runs on. So an answer lives for at least one retention, and for two at the most
 * while answers keep coming. The database notes which partition runs since when: the retention can be changed, and a clock that
 * was ahead does not keep answers for ever.
 */
export class Idempotency {
  readonly #live = new Map<string, number>();
  readonly #retentionMs: number;
  readonly #select;
  readonly #count;
  /** null before the first answer. */
  #running: Rotation['running'] | null;

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
    this.#running = noted === null ? null : (JSON.parse(noted.value) as Rotation['running']);
  }

  find(key: IdempotencyKey): RememberedAnswer | undefined {
    const row = this.#select.get(key.scope, key.id) as StoredRow | null;
    if (row === null) return undefined;
    return {
      requestDigest: row.request_digest,
      ...(JSON.parse(row.outcome) as Omit<RememberedAnswer, 'requestDigest'>),
    };
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

  /** The partition that an answer goes to now, and what has to happen first. */
  rotation(nowMs: number): Rotation {
    const running = this.#running;
    if (running === null) return { running: { partition: 0, sinceMs: nowMs }, empties: false, isDue: true };
    // The clock was set back: the retention counts again from here.
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
