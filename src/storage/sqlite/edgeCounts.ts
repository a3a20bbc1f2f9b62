import type { Database } from 'bun:sqlite';

import type { EdgeCount, EdgeCounts, LoadedCount } from '../port.ts';
import type { SqliteThread } from './threadClient.ts';

/** Counts by column: strings and a block of numbers are handed to a thread at a fraction of what objects cost. */
export interface EdgeColumns {
  readonly owners: readonly string[];
  readonly names: readonly string[];
  /** durationMs, count and resetAtMs of each. */
  readonly numbers: Float64Array;
}

export const EDGE_NUMBERS = 3;

export class SqliteEdgeCounts implements EdgeCounts {
  readonly isShared = false;
  readonly #writer: SqliteThread;
  readonly #select;

  constructor(db: Database, writer: SqliteThread) {
    this.#writer = writer;
    this.#select = db.query(
      'SELECT owner, name, duration_ms AS durationMs, count, reset_at_ms AS resetAtMs, 0 AS others FROM edge_counts WHERE owner = ?',
    );
  }

  async load(owner: string): Promise<readonly LoadedCount[]> {
    return this.#select.all(owner) as LoadedCount[];
  }

  async sync(counts: readonly EdgeCount[]): Promise<readonly EdgeCount[]> {
    await this.#writer.call('saveEdge', toColumns(counts));
    return [];
  }

  /** What was saved stays. */
  onForgotten(): void {}
}

function toColumns(counts: readonly EdgeCount[]): EdgeColumns {
  const numbers = new Float64Array(counts.length * EDGE_NUMBERS);
  for (const [i, { durationMs, count, resetAtMs }] of counts.entries()) {
    numbers[i * EDGE_NUMBERS] = durationMs;
    numbers[i * EDGE_NUMBERS + 1] = count;
    numbers[i * EDGE_NUMBERS + 2] = resetAtMs;
  }
  return { owners: counts.map(({ owner }) => owner), names: counts.map(({ name }) => name), numbers };
}
