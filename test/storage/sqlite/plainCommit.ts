import type { Commit } from '../../../src/storage/sqlite/writer/commit.ts';

/** A commit that only spends. */
export function plainCommit(number: number, accounts: Float64Array): Commit {
  return { number, accounts, rows: null };
}
