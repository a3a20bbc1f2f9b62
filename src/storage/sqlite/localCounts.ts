import type { Database } from 'bun:sqlite';

import { type LocalCount, type LocalCounts, type LoadedCount, StorageUnavailable } from '../port/storage.ts';
import { LOCAL_COUNT_NUMBERS, type LocalCountColumns } from './writer/localCountRows.ts';
import { toWriteFailure } from './file/writeFailure.ts';
import type { LazyThread, SqliteThread } from './thread/threadClient.ts';

/** Saves local counts in analytics.db, in its thread. No spend waits for that, and verification continues without it. */
export class SqliteLocalCounts implements LocalCounts {
  readonly isShared = false;
  readonly #thread: LazyThread;
  readonly #select;
  #forgotten: () => void = () => {};
  /** The thread that was asked last. */
  #last: SqliteThread | null = null;

  /** `db` only reads. */
  constructor(db: Database, thread: LazyThread) {
    this.#thread = thread;
    this.#select = db.query(
      'SELECT owner, name, duration_ms AS durationMs, count, reset_at_ms AS resetAtMs, 0 AS others FROM local_counts WHERE owner = ?',
    );
  }

  async load(owner: string): Promise<readonly LoadedCount[]> {
    try {
      return this.#select.all(owner) as LoadedCount[];
    } catch {
      // The file cannot be read, so the limits count from 0, as they would without the file.
      return [];
    }
  }

  async sync(counts: readonly LocalCount[], isLast: boolean): Promise<readonly LocalCount[]> {
    try {
      const thread = await this.#thread.get();
      const before = this.#last;
      this.#last = thread;
      // Counts that a former thread had collected but not written are lost with it.
      if (before !== null && before !== thread) this.#forgotten();
      await thread.call('saveLocalCounts', toColumns(counts), isLast);
    } catch (error) {
      this.#forgotten();
      throw new StorageUnavailable(`Local counts cannot be saved (${toWriteFailure(error).message}).`);
    }
    return [];
  }

  /** Does not start a thread only for this: old counts are removed when something is saved again. */
  async prune(endedAtMs: number): Promise<void> {
    if (this.#thread.isStarted) await (await this.#thread.get()).call('pruneLocalCounts', endedAtMs);
  }

  onForgotten(listener: () => void): void {
    this.#forgotten = listener;
  }
}

function toColumns(counts: readonly LocalCount[]): LocalCountColumns {
  const numbers = new Float64Array(counts.length * LOCAL_COUNT_NUMBERS);
  for (const [i, { durationMs, count, resetAtMs }] of counts.entries()) {
    numbers[i * LOCAL_COUNT_NUMBERS] = durationMs;
    numbers[i * LOCAL_COUNT_NUMBERS + 1] = count;
    numbers[i * LOCAL_COUNT_NUMBERS + 2] = resetAtMs;
  }
  return { owners: counts.map(({ owner }) => owner), names: counts.map(({ name }) => name), numbers };
}
