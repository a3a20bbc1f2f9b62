import type { Statement } from '../query/statement.ts';

/** Totals kept in memory. */
const MAX_TOTALS = 1000;

interface Known {
  readonly version: number;
  readonly total: number;
}

/**
 * The total number of keys of each listing, kept until any record changes. Counting a million keys takes a hundred times as long as
 * reading a page, and a caller that reads all pages would wait for it with each of them.
 */
export class RememberedTotals {
  readonly #version: () => Promise<number>;
  readonly #known = new Map<string, Known>();

  constructor(version: () => Promise<number>) {
    this.#version = version;
  }

  async find({ sql, params }: Statement, count: () => Promise<number>): Promise<number> {
    const name = JSON.stringify([sql, params]);
    // The version is read before the count, so that a change during the count makes the next call count again.
    const version = await this.#version();
    const known = this.#known.get(name);
    if (known?.version === version) return known.total;
    const total = await count();
    if (this.#known.size >= MAX_TOTALS) this.#known.clear();
    this.#known.set(name, { version, total });
    return total;
  }
}
