import type { KeyRow } from './keys/keyRows.ts';
import type { SqlReader } from './query/statement.ts';

/** Finds the rows of keys with these digests. Each engine decides how many it reads at once. */
export type KeyLookup = (digests: readonly string[]) => Promise<readonly KeyRow[]>;

export interface RecordsContext {
  readonly reader: SqlReader;
  /** Reads that verifications wait for. */
  readonly lookups: SqlReader;
  readonly lookUp: KeyLookup;
  /** A number that grows with every change of a record by any node. */
  readonly version: () => Promise<number>;
}
