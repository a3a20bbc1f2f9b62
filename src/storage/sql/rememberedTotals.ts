import type { Statement } from './statement.ts';

/** Listings whose totals are remembered. */
const MAX_TOTALS = 1000;

interface Known {
  readonly version: number;
  readonly total: number;
}

/**
 * How many keys a listing has in all, remembered until any record changes: counting a million takes a hundred times as long as
 * reading a page, and who goes through all pages would pay for it with each of them.
 */
export class RememberedTotals {
  readonly #version: () => Promise<number>;
  readonly #known = new Map<string, Known>();

  constructor(version: () => Promise<number>) {
    this.#version = version;
  }

  async find({ sql, params }: Statement, count: () => Promise<number>): Promise<number> {
    const name = JSON.stringify([sql, params]);
    // Read before the count: what changes meanwhile makes the next one count again.
    const version = await this.#version();
    const known = this.#known.get(name);
    if (known?.version === version) return known.total;
    const total = await count();
    if (this.#known.size >= MAX_TOTALS) this.#known.clear();
    this.#known.set(name, { version, total });
    return total;
  }
}
